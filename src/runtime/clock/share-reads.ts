import type { Clock } from './clock.ts';

/**
 * Whoever asks while a read is under way shares it. With `fresh`, what it brought, be it a failure, also serves those
 * who ask until `ms` milliseconds after it was begun.
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
