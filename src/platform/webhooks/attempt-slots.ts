import type { Readable } from 'node:stream';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Attempt } from './delivery-record.ts';
import type { Receivers } from './receivers.ts';
import { type AttemptResult, sendAttempt } from './send-attempt.ts';

/** The signed part that all attempts of a delivery repeat. The timestamp is in epoch milliseconds. */
export interface SignedBody {
  /** Those of a variant. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timestamp: number;
  readonly signature: string;
  readonly body: Buffer;
}

/** Headers and body of one attempt as they are sent. */
export interface ShapedAttempt {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable;
}

/** The headers of a delivery. [delivery.timestamp-header] [delivery.signature-header] */
export function deliveryHeaders(signed: Omit<SignedBody, 'body'>): Record<string, string> {
  return {
    'Content-Type': ASSUMPTIONS.webhookContentType.value,
    ...signed.headers,
    [HEADERS.timestamp]: String(signed.timestamp),
    [HEADERS.signature]: signed.signature,
  };
}

/** The request of an unmodified attempt: exactly what was signed. [delivery.identical] */
export function shapeRequest(signed: SignedBody): ShapedAttempt {
  return { headers: deliveryHeaders(signed), body: signed.body };
}

/** The record of an attempt that was not sent. */
export function unsentAttempt(clock: Clock, error: string): Attempt {
  return { at: clock.now(), ms: 0, error };
}

/** Sends attempts and limits the number of open ones. */
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

  /** Whether another attempt may begin. Copies of one attempt may exceed the limit. */
  get free(): boolean {
    return this.#open < this.#limit;
  }

  /** Sends once and calls `done` once. Returns a function that ends the attempt early. */
  send(
    url: string,
    { headers, body }: ShapedAttempt,
    done: (attempt: Attempt, result: AttemptResult) => void,
  ): () => void {
    const clock = this.#clock;
    const { path, dispatcher } = this.#receivers.find(url);
    const at = clock.now();
    const began = clock.elapsed();
    this.#open += 1;
    return sendAttempt(
      dispatcher,
      { path, headers, body },
      // [delivery.timeout]
      { clock, deadlineMs: LIMITS.webhookAttemptTimeoutMs },
      (result) => {
        this.#open -= 1;
        const ms = Math.round(clock.elapsed() - began);
        done({ at, ms, ...result }, result);
      },
    );
  }
}
