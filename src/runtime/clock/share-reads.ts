import type { Clock } from './clock.ts';

/**
 * Concurrent callers share one read. With `fresh`, its result, even a failure, is also returned to callers
 * until `ms` milliseconds after it started.
 */
export function shareReads<T>(
  read: () => Promise<T>,
  fresh?: { readonly clock: Clock; readonly ms: number },
): () => Promise<T> {
  let latest: Promise<T> | undefined;
  let begunAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (latest !== undefined) return latest;
    begunAt = fresh?.clock.elapsed() ?? begunAt;
    const reading = read().finally(() => {
      const left = fresh === undefined ? 0 : begunAt + fresh.ms - fresh.clock.elapsed();
      const forget = (): void => {
        latest = undefined;
      };
      if (left > 0) fresh?.clock.after(left, forget);
      else forget();
    });
    latest = reading;
    return reading;
  };
}
