/** A content security policy under which nothing of an answer runs, and no page shows it. */
export const INERT = "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/**
 * Headers of every answer that says nothing else: nobody keeps it, and no page of somebody else may show or embed it.
 * That it is not to be guessed says the server of all answers.
 */
export const SAFE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': INERT,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
