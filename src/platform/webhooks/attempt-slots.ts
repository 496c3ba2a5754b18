import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Envelope } from './active-delivery.ts';
import type { Attempt } from './delivery-record.ts';
import type { Receivers } from './receivers.ts';
import { type AttemptResult, sendAttempt } from './send-attempt.ts';
import { shapeAttempt } from './shape-attempt.ts';
import type { WebhookFault } from './webhook-faults.ts';

/** Names on the record of an attempt: of its faults, or of what was done to it by hand. */
function withNames(names: readonly string[]): { faults?: readonly string[] } {
  return names.length === 0 ? {} : { faults: names };
}

/** The record of an attempt that never left. */
export function unsentAttempt(clock: Clock, error: string, names: readonly string[]): Attempt {
  return { at: clock.now(), ms: 0, error, ...withNames(names) };
}

/** Opens attempts and counts the open ones. */
export class AttemptSlots {
  readonly #clock: Clock;
  readonly #receivers: Receivers;
  readonly #limit: number;
  #open = 0;

  constructor(options: { clock: Clock; receivers: Receivers; limit: number }) {
    this.#clock = options.clock;
    this.#receivers = options.receivers;
    this.#limit = options.limit;
  }

  /** Whether another attempt may begin. Copies of one attempt may go past the limit. */
  get free(): boolean {
    return this.#open < this.#limit;
  }

  /** Sends once and calls `done` once. Returns a function that ends the attempt early. */
  send(
    envelope: Envelope,
    faults: readonly WebhookFault[],
    names: readonly string[],
    done: (attempt: Attempt, result: AttemptResult) => void,
  ): () => void {
    const clock = this.#clock;
    const { path, dispatcher } = this.#receivers.find(envelope.url);
    const at = clock.now();
    const began = clock.elapsed();
    const { headers, body } = shapeAttempt(envelope, faults, { secret: envelope.secret, clock });
    this.#open += 1;
    return sendAttempt(
      dispatcher,
      { path, headers, body },
      { clock, deadlineMs: LIMITS.webhookAttemptTimeoutMs },
      (result) => {
        this.#open -= 1;
        const ms = Math.round(clock.elapsed() - began);
        done({ at, ms, ...result, ...withNames(names) }, result);
      },
    );
  }
}
