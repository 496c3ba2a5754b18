import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const LARGEST_DIFFERENCE_SECONDS = 5 * 60;

/** Whether a request is signed as Standard Webhooks describe, with this secret (`whsec_…`), at about `now` (epoch ms). */
export function isSigned(
  secret: string,
  {
    headers,
    body,
    now,
  }: { readonly headers: IncomingHttpHeaders; readonly body: Buffer; readonly now: number },
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof signatures !== 'string' || !/^\d{1,12}$/.test(String(timestamp))) return false;
  if (Math.abs(now / 1_000 - Number(timestamp)) > LARGEST_DIFFERENCE_SECONDS) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',');
    const given = Buffer.from(value, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
