/** Header names of the service, spelled as on the wire. */
export const HEADERS = {
  /** Epoch milliseconds of a webhook delivery; part of the signed text. */
  timestamp: 'X-Service-Timestamp',
  /** `sha256=` and 64 hex digits over `<timestamp>.<raw body>`. */
  signature: 'X-Service-Signature',
  /** Opaque key of a `POST /connections`. */
  idempotencyKey: 'Idempotency-Key',
  /** `true` on an answer that provisioned nothing. */
  idempotencyReplayed: 'Idempotency-Replayed',
  retryAfter: 'Retry-After',
  wwwAuthenticate: 'WWW-Authenticate',
} as const;

/** What stands before the hex digits in the signature header. */
export const SIGNATURE_PREFIX = 'sha256=';
