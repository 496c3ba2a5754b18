import type { ConnectionEventFacts, MessageFacts } from './facts.ts';

/** A verified delivery on its way to the raw log. */
export interface RawDelivery {
  readonly subscriptionId: string;
  readonly accountId: string;
  /** Epoch ms, our clock. */
  readonly receivedAt: number;
  /** The signed timestamp header, epoch ms. */
  readonly signedAt: number;
  /** Which secret of the subscription fits its signature. */
  readonly secretVersion?: number;
  readonly body: Uint8Array;
  /** The value of `event`, as far as it could be read. */
  readonly event: string | null;
  /** What it tells. Absent: nothing to merge, and `outcome` says why. */
  readonly message?: MessageFacts;
  readonly connection?: ConnectionEventFacts;
  readonly outcome?: 'unknown_event' | 'misfit' | 'unmergeable';
  readonly reason?: string;
  /** What a delivery without facts is about, as far as it could be read: it is found by its message. */
  readonly names?: { readonly connectionId: string | null; readonly messageId: string | null };
}

/** What became of a delivery, as the raw log keeps it. */
export const DELIVERY_OUTCOMES = [
  'merged',
  'unchanged',
  'foreign',
  'unknown_event',
  'misfit',
  'unmergeable',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** A lease that must still be held when the batch is written. */
export interface Fence {
  readonly lease: string;
  readonly fence: number;
}

/**
 * Extra CTEs that run in the same statement, each `name AS (…)`, comma-separated. Their parameters are
 * numbered from `$1`. With a fence they must carry `EXISTS (SELECT FROM guard)`. They can read `merged`
 * (`connection_id, id, change_mask, status, previous_status`): the messages that this batch changed.
 */
export interface ExtraCtes {
  readonly ctes: string;
  readonly params: readonly unknown[];
}

export interface Batch {
  /** Epoch ms; the time of every change it makes. */
  readonly now: number;
  readonly deliveries?: readonly RawDelivery[];
  /** Facts beside those of the deliveries, in any order; the batch folds them. */
  readonly messages?: readonly MessageFacts[];
  readonly fence?: Fence;
  /** Which walk or command brought facts that no delivery told. Kept with the changes that it makes. */
  readonly via?: string;
  readonly also?: ExtraCtes;
}

export interface BatchResult {
  /** False: the fence was lost, and nothing was written. */
  readonly applied: boolean;
  /** How many messages it created or changed, by the bits of `CHANGE`. */
  readonly masks: ReadonlyMap<number, number>;
  /** How many deliveries had which outcome. */
  readonly outcomes: Readonly<Partial<Record<DeliveryOutcome, number>>>;
}
