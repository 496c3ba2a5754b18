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
}
