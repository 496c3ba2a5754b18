/**
 * Headers of every answer that says nothing else: nobody keeps it, and no page of somebody else may show or embed it.
 * That it is not to be guessed says the server of all answers.
 */
export const SAFE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
