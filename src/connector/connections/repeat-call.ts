import type { Clock } from '../../runtime/clock/clock.ts';
import { ServiceError, ServiceUnreachable } from '../service-client/service-errors.ts';

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 600;
/** Over all attempts: somebody waits for the answer. */
const DEADLINE_MS = 75_000;

/** True when it is not known whether the service did what it was asked to. */
export function isLostAnswer(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.mayHaveActed;
}

/** True when asking again may help: the answer was lost, or no connection was made. */
export function isPassing(error: unknown): error is ServiceError {
  return isLostAnswer(error) || error instanceof ServiceUnreachable;
}

/**
 * Makes a call that may be made twice without harm, such as a logout or a deletion, and makes it again when its
 * answer is lost: three attempts, 75 s at the longest. Throws what the last one threw.
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
        const rested = await rest(clock, FIRST_PAUSE_MS * 2 ** (attempt - 1), signal);
        if (!rested) throw error;
      }
    }
  } finally {
    cancel();
  }
}

/** Sleeps; false when it was given up. */
export async function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return await clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
}
