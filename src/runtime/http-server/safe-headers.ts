/**
 * Headers of every answer that says nothing else: it is what it says to be, nobody keeps it, and no page of somebody
 * else may show or embed it.
 */
export const SAFE_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;
