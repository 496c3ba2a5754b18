import type { EventType } from '../../contract/service/events.ts';
import type { Attempt, AttemptResponse, DeliveryOutcome, DropReason } from '../db/webhook-tables.ts';
import type { SignedBody } from './signed-body.ts';

export type { Attempt, AttemptResponse, DeliveryOutcome, DropReason };

/** What the first attempt of a delivery fixes, and all others repeat. */
export interface Envelope extends SignedBody {
  readonly url: string;
  readonly secret: string;
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
  readonly outcome: DeliveryOutcome;
  readonly reason: DropReason | null;
  /** Whether its next attempt waits until somebody lets it begin. */
  readonly held: boolean;
  /** Wall-clock epoch milliseconds. */
  readonly createdAt: number;
  /** Attempts that have begun. */
  readonly made: number;
  /** Null before the first attempt, and if no webhook was set. */
  readonly envelope: Envelope | null;
  /** Where it is sent; null without an envelope. */
  readonly url: string | null;
  /** As sent with each unmodified attempt; empty without an envelope. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Each request, those that somebody sent by hand and copies included. */
  readonly attempts: readonly Attempt[];
  /** The delivery that this one is a variant of; null for a delivery of the event itself. */
  readonly variantOf: number | null;
}
