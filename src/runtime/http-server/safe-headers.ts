/** A content security policy that lets nothing in a response run, and no page frame it. */
export const INERT = "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/** A policy for pages with scripts: nothing but files of this server, no inline code or style, and no frame around it. */
export const OWN_FILES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

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
