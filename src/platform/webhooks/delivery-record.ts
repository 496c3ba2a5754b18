import type { EventType } from '../../contract/service/events.ts';

/** One attempt, or one copy of it. `at` is wall-clock epoch milliseconds, `ms` how long it took. */
export interface Attempt {
  readonly at: number;
  readonly ms: number;
  /** The receiver's answer, if it gave one. */
  readonly status?: number;
  /** Why the attempt has no answer, or why an answer does not count. */
  readonly error?: string;
  /** What stood around the attempt and changed it, by name. */
  readonly marks?: readonly string[];
}

export type DeliveryOutcome = 'pending' | 'delivered' | 'dropped';

/**
 * Why an event was dropped without its attempts: no webhook was set, more waited than is kept, or the
 * service stopped before it knew an outcome.
 */
export type DropReason = 'no_webhook' | 'backlog_full' | 'interrupted';

/** How a delivery ended. */
export interface DeliveryEnd {
  readonly outcome: Exclude<DeliveryOutcome, 'pending'>;
  /** Null when its attempts decided. */
  readonly reason: DropReason | null;
}

/**
 * What a delivery carries in place of the bytes of its event. It is made beside the event's own deliveries, and changes
 * neither them nor the ledger.
 */
export interface Variant {
  /** The delivery that it varies. */
  readonly of: number;
  readonly body: string;
  /** In addition to those of every delivery, or in place of its `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A delivery as it stands: pending while attempts are to come. */
export interface DeliveryRecord {
  readonly id: number;
  readonly eventId: number;
  /** The workspace or OAuth app that it is for. */
  readonly subscriptionId: string;
  /** The workspace of its connection. */
  readonly workspaceId: string;
  readonly event: EventType;
  readonly connectionId: string;
  readonly messageId: string | null;
  /** Null when no webhook was set. */
  readonly url: string | null;
  readonly outcome: DeliveryOutcome;
  readonly reason: DropReason | null;
  /** Wall-clock epoch milliseconds. */
  readonly createdAt: number;
  /** As sent with each untouched attempt; empty before the first one was signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly attempts: readonly Attempt[];
  /** The delivery that this one is a variant of; null for a delivery of the event itself. */
  readonly variantOf: number | null;
}
