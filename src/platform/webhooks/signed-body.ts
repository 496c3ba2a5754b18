import type { Readable } from 'node:stream';
import { HEADERS } from '../../contract/service/headers.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

/** The signed part that all attempts of a delivery repeat. The timestamp is in epoch milliseconds. */
export interface SignedBody {
  /** Those of a variant. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timestamp: number;
  readonly signature: string;
  readonly body: Buffer;
}

/** Headers and body of one attempt as they are sent. */
export interface ShapedAttempt {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable;
}

/** The headers of a delivery. [delivery.timestamp-header] [delivery.signature-header] */
export function deliveryHeaders(signed: Omit<SignedBody, 'body'>): Record<string, string> {
  return {
    'Content-Type': ASSUMPTIONS.webhookContentType.value,
    ...signed.headers,
    [HEADERS.timestamp]: String(signed.timestamp),
    [HEADERS.signature]: signed.signature,
  };
}

/** The request of an unmodified attempt: exactly what was signed. [delivery.identical] */
export function shapeRequest(signed: SignedBody): ShapedAttempt {
  return { headers: deliveryHeaders(signed), body: signed.body };
}
