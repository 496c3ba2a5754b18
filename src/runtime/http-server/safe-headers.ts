/** A content security policy that lets nothing in a response run, and no page frame it. */
export const INERT = "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/**
 * Default headers of every response: it is not cached, and pages of other sites must not show or embed it.
 * The server adds `nosniff` to all responses.
 */
export const SAFE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': INERT,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
