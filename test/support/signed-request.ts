import { createHmac } from 'node:crypto';
import type { ReceivedRequest } from './receiver.ts';

/** Whether a delivery as it arrived is signed with a secret, over its timestamp and raw body. */
export function isSignedWith(secret: string, request: ReceivedRequest | undefined): boolean {
  const [timestamp, second] = request?.headers['x-service-timestamp'] ?? [];
  if (request === undefined || timestamp === undefined || second !== undefined) return false;
  const hmac = createHmac('sha256', secret).update(`${timestamp}.`).update(request.body).digest('hex');
  return request.headers['x-service-signature']?.join() === `sha256=${hmac}`;
}
