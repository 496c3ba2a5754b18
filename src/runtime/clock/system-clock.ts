import type { Clock } from './clock.ts';

/** The longest delay that `setTimeout` supports; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Starts a timer of any length, in several steps if necessary. Returns its cancel function. */
function startTimer(ms: number, run: () => void, keepAlive: boolean): () => void {
  let timer: NodeJS.Timeout;
  let left = Number.isFinite(ms) ? Math.max(0, ms) : LONGEST_TIMER_MS;

  const step = (): void => {
    const wait = Math.min(left, LONGEST_TIMER_MS);
    left -= wait;
    timer = setTimeout(() => (left > 0 ? step() : run()), wait);
    if (!keepAlive) timer.unref();
  };

  step();
  return () => clearTimeout(timer);
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = startTimer(
      ms,
      () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      },
      true,
    );
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, run, options) => startTimer(ms, run, options?.keepAlive === true),
  sleep,
};
