import type { Clock } from '../../runtime/clock/clock.ts';
import type { Attempt, DeliveryRecord, Envelope } from './delivery-record.ts';
import type { AttemptResult } from './send-attempt.ts';
import { type ShapedAttempt, shapeRequest } from './signed-body.ts';

/** An attempt that begins. */
export interface PlannedAttempt {
  /** Later deliveries have larger ids. */
  readonly delivery: DeliveryRecord;
  /** Counted from 1. */
  readonly number: number;
  readonly envelope: Envelope;
  /** The system clock. */
  readonly clock: Clock;
  /**
   * Sends a request. `ended` is called once. Returns a function that ends the request early.
   */
  send(shape: ShapedAttempt, ended: (sent: Attempt, result: AttemptResult) => void): () => void;
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
  send(shapeRequest(envelope), (sent, result) => {
    record(sent);
    over(result);
  });
