import type { EventType } from '../../contract/service/events.ts';

/** What a receiver answered: some of its headers, in lower case, and the beginning of its body as text. */
export interface AttemptResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One attempt, or one copy of it. `at` is wall-clock epoch milliseconds, `ms` how long it took. */
export interface Attempt {
  readonly at: number;
  readonly ms: number;
  /** The receiver's answer, if it gave one. */
  readonly status?: number;
  /** Absent if it would be empty. */
  readonly response?: AttemptResponse;
  /** Why the attempt has no answer, or why its answer is not valid. */
  readonly error?: string;
  /** Names of the changes that a port made to the attempt. */
  readonly marks?: readonly string[];
}

export type DeliveryOutcome = 'pending' | 'delivered' | 'dropped';

/**
 * Why an event was dropped without all attempts: no webhook was set, the backlog was full, or the service stopped
 * before the outcome was known.
 */
export type DropReason = 'no_webhook' | 'backlog_full' | 'interrupted';

/** How a delivery ended. */
export interface DeliveryEnd {
  readonly outcome: Exclude<DeliveryOutcome, 'pending'>;
  /** Null if the attempts decided. */
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

/** The present state of a delivery: pending while attempts remain. */
export interface DeliveryRecord {
  readonly id: number;
  readonly eventId: number;
  /** The workspace or OAuth app that receives it. */
  readonly subscriptionId: string;
  /** The workspace of its connection. */
  readonly workspaceId: string;
  readonly event: EventType;
  readonly connectionId: string;
  readonly messageId: string | null;
  /** Null if no webhook was set. */
  readonly url: string | null;
  readonly outcome: DeliveryOutcome;
  readonly reason: DropReason | null;
  /** Wall-clock epoch milliseconds. */
  readonly createdAt: number;
  /** As sent with each unmodified attempt; empty before the first one was signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly attempts: readonly Attempt[];
  /** The delivery that this one is a variant of; null for a delivery of the event itself. */
  readonly variantOf: number | null;
}
