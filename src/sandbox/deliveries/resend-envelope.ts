import { HEADERS } from '../../contract/service/headers.ts';
import type { Envelope } from '../../platform/webhooks/active-delivery.ts';
import type { SignedBody } from '../../platform/webhooks/attempt-slots.ts';
import type { Destination } from '../../platform/webhooks/configuration.ts';
import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';

/** How the bytes of a delivery are sent again. */
export interface ResendOptions {
  /** Signs afresh, with the secret of now: old bytes are refused once they are five minutes old. */
  readonly resign?: boolean;
  /** How often; default once. */
  readonly times?: number;
  /** Changes what was signed, and the name of that on the record. */
  readonly alter?: { readonly name: string; change(signed: SignedBody): SignedBody };
}

/** The same bytes and signature, or freshly signed ones. Null when there is nothing to sign with. */
export function resendEnvelope(
  record: DeliveryRecord,
  options: ResendOptions,
  current: Destination | null,
  now: number,
): Envelope | null {
  const signed = options.resign === true ? null : signedBefore(record);
  const envelope = signed ?? signNow(record, current, now);
  return envelope === null ? null : { ...envelope, ...options.alter?.change(envelope) };
}

function signedBefore(record: DeliveryRecord): Envelope | null {
  const timestamp = record.headers[HEADERS.timestamp];
  const signature = record.headers[HEADERS.signature];
  if (record.url === null || timestamp === undefined || signature === undefined) return null;
  return {
    url: record.url,
    secret: null,
    timestamp: Number(timestamp),
    signature,
    body: Buffer.from(record.body),
  };
}

function signNow(record: DeliveryRecord, current: Destination | null, now: number): Envelope | null {
  if (current === null) return null;
  const body = Buffer.from(record.body);
  return { ...current, timestamp: now, signature: signEvent(current.secret, now, body), body };
}
