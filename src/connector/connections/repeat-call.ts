import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ServiceError, ServiceUnreachable } from '../service-client/service-errors.ts';

const ATTEMPTS = 3;
const PAUSE = { firstMs: 600, longestMs: 60_000 };
/** Total time of all attempts: a caller waits for the response. */
const DEADLINE_MS = 75_000;

/** True if it is unknown whether the service executed the call. */
export function isLostAnswer(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.mayHaveActed;
}

/** True if a retry may help: the response was lost, or no connection was made. */
export function isPassing(error: unknown): error is ServiceError {
  return isLostAnswer(error) || error instanceof ServiceUnreachable;
}

/**
 * Makes an idempotent call, such as a logout or a deletion, and retries it if its response is lost: three
 * attempts, at most 75 s. Throws what the last attempt threw.
 */
export async function repeatCall<T>(
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeUp = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => timeUp.abort());
  const signal = AbortSignal.any([closing, timeUp.signal]);
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call(signal);
      } catch (error) {
        if (!isPassing(error) || attempt === ATTEMPTS || signal.aborted) throw error;
        const rested = await rest(clock, backOffMs(attempt, PAUSE), signal);
        if (!rested) throw error;
      }
    }
  } finally {
    cancel();
  }
}

/** Sleeps; false if it was aborted. */
export async function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return await clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
}
