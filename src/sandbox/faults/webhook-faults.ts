import type { RecordedEvent } from '../../platform/webhooks/ledger.ts';

type Effect =
  /** The attempt never leaves. */
  | { readonly type: 'drop' }
  /** `times` more copies leave with it. */
  | { readonly type: 'duplicate'; readonly times: number }
  /** The attempt leaves `ms` later, as it was signed. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The attempt leaves after a later event of its account was delivered, or in reverse after `ms` at most. */
  | { readonly type: 'reorder'; readonly ms: number }
  /** One byte of the body is altered after signing. */
  | { readonly type: 'tamper_body' }
  /** One digit of the signature is altered. */
  | { readonly type: 'tamper_signature' }
  /** Validly signed, but for a time `ms` ago. */
  | { readonly type: 'stale_timestamp'; readonly ms: number }
  /** The connection ends in the middle of the body. */
  | { readonly type: 'truncate' }
  /** The second half of the body comes `ms` after the first. */
  | { readonly type: 'slow'; readonly ms: number };

/** What a network, or a bad day of the service, does to one attempt. `name` is for the attempt's record. */
export type WebhookFault = Effect & { readonly name: string };

/** Decides the faults of one attempt, counted from 1. */
export interface WebhookFaults {
  decide(event: RecordedEvent, attempt: number): readonly WebhookFault[];
}
