import type { Clock } from '../../runtime/clock/clock.ts';
import type { Envelope } from './active-delivery.ts';
import { type ShapedAttempt, shapeRequest } from './attempt-slots.ts';
import type { Attempt } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';
import type { AttemptResult } from './send-attempt.ts';

/** An attempt that may begin. */
export interface PlannedAttempt {
  /** Later deliveries have larger ids. */
  readonly deliveryId: number;
  /** The workspace or OAuth app that receives it. */
  readonly subscriptionId: string;
  readonly event: RecordedEvent;
  /** Counted from 1. */
  readonly number: number;
  readonly envelope: Envelope;
  /** The system clock. */
  readonly clock: Clock;
  /**
   * Sends `copies` at once as soon as the limits of the account allow, each with the request that `shape` returns then.
   * `ended` is called for each copy, counted from 0. Returns a function that ends them early.
   */
  send(
    shape: () => ShapedAttempt,
    copies: number,
    ended: (sent: Attempt, result: AttemptResult, copy: number) => void,
  ): () => void;
  /** Adds an attempt to the delivery's record, sent or not. */
  record(attempt: Attempt): void;
  /** Ends the attempt. Call it once. */
  over(result: AttemptResult): void;
}

/**
 * Port: wraps the HTTP client of each attempt. Without it, an attempt is sent as it was signed. Returns a function that
 * ends the attempt early.
 */
export type AroundAttempt = (attempt: PlannedAttempt) => () => void;

export const sendAsSigned: AroundAttempt = ({ envelope, send, record, over }) =>
  send(
    () => shapeRequest(envelope),
    1,
    (sent, result) => {
      record(sent);
      over(result);
    },
  );
