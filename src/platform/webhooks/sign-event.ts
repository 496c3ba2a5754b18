import { createHmac } from 'node:crypto';
import { SIGNATURE_PREFIX } from '../../contract/service/headers.ts';

/**
 * The value of `X-Service-Signature` for a body sent at `timestamp` (epoch milliseconds): HMAC-SHA256 over
 * `<timestamp>.<raw body>`, in hexadecimal. [delivery.signature]
 */
export function signEvent(secret: string, timestamp: number, body: Uint8Array): string {
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  return `${SIGNATURE_PREFIX}${digest}`;
}
