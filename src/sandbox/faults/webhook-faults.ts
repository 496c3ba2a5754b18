import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';

type Effect =
  /** The attempt is not sent. */
  | { readonly type: 'drop' }
  /** `times` additional copies are sent with it. */
  | { readonly type: 'duplicate'; readonly times: number }
  /** The attempt is sent `ms` later, as it was signed. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The attempt is sent after a later event of its account was delivered, or in reverse order after at most `ms`. */
  | { readonly type: 'reorder'; readonly ms: number }
  /** One byte of the body is altered after signing. */
  | { readonly type: 'tamper_body' }
  /** One digit of the signature is altered. */
  | { readonly type: 'tamper_signature' }
  /** Validly signed, but with a timestamp `ms` ago. */
  | { readonly type: 'stale_timestamp'; readonly ms: number }
  /** The connection ends in the middle of the body. */
  | { readonly type: 'truncate' }
  /** The second half of the body is sent `ms` after the first. */
  | { readonly type: 'slow'; readonly ms: number };

/** A fault of one attempt. `name` appears in the record of the attempt. */
export type WebhookFault = Effect & { readonly name: string };

/** What rules match: the event of a delivery. */
export type MatchedEvent = Pick<
  DeliveryRecord,
  'eventId' | 'event' | 'workspaceId' | 'connectionId' | 'messageId'
>;

/** Decides the faults of one attempt, counted from 1. */
export interface WebhookFaults {
  decide(event: MatchedEvent, attempt: number): readonly WebhookFault[];
}
