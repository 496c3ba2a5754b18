import { createHmac } from 'node:crypto';

/** The signature that a delivery must have: over its timestamp, a dot and its raw bytes. */
export function signDelivery(secret: string, timestamp: string, body: Buffer): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;
}
