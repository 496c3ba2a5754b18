import { createHmac } from 'node:crypto';
import { CONSUMER_HEADERS } from '../../../contract/connector/consumer-requests.ts';

const SECRET_PREFIX = 'whsec_';

/** The request to sign. */
export interface UnsignedRequest {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly body: string;
}

/**
 * The headers of Standard Webhooks 1.0.0, with one signature for each secret, so that a receiver accepts the request
 * whichever of them it has. A secret is `whsec_` and base64.
 */
export function signRequest(
  { id, now, body }: UnsignedRequest,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    [CONSUMER_HEADERS.id]: id,
    [CONSUMER_HEADERS.timestamp]: timestamp,
    [CONSUMER_HEADERS.signature]: signatures.join(' '),
  };
}
