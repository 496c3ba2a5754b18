/** Header names of the service, spelled as on the wire. */
export const HEADERS = {
  /** Epoch milliseconds of a webhook delivery; part of the signed text. */
  timestamp: 'X-Service-Timestamp', // [wire.names] [delivery.timestamp-header]
  /** `sha256=` and 64 hex digits over `<timestamp>.<raw body>`. */
  signature: 'X-Service-Signature', // [wire.names] [delivery.signature-header]
  /** Opaque idempotency key of a `POST /connections`. */
  idempotencyKey: 'Idempotency-Key',
  /** `true` on a response that provisioned nothing. */
  idempotencyReplayed: 'Idempotency-Replayed',
  retryAfter: 'Retry-After',
  wwwAuthenticate: 'WWW-Authenticate',
} as const;

/** The prefix of the hex digits in the signature header. [delivery.signature-header] */
export const SIGNATURE_PREFIX = 'sha256=';
