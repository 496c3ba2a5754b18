import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { ApiError } from './client.ts';
import { useRealNow } from './clock.ts';
import { mode, queries } from './live.ts';
import { type Figure, type Outage, outageOf, type Reading, readingOf } from './reading.ts';
import { SYNC_STATUS } from './sync-status.ts';

/** That something does not exist is an answer, not a failure to read. */
const isGone = (error: Error | null): boolean => error instanceof ApiError && error.status === 404;

/** How old figures are now. */
export const useReading = (figures: readonly Figure[]): Reading => readingOf(useRealNow(), figures);

/** How old the whole page is: all that is on display now, in whatever part of it. */
export function useScreenReading(): Reading {
  const shown = queries.getQueryCache().findAll({ type: 'active' });
  return useReading(
    shown.map(({ state }) => ({
      at: Math.max(state.dataUpdatedAt, isGone(state.error) ? state.errorUpdatedAt : 0),
      failure: isGone(state.error) ? null : state.error,
    })),
  );
}

/** What was read for display. */
export interface Shown<Data> extends Figure {
  /** What was last read; undefined before the first read has succeeded, and once the thing is gone. */
  readonly data: Data | undefined;
  /** Why there is nothing to show: the first read failed, or the thing is gone. */
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly refetch: (options?: { readonly cancelRefetch: boolean }) => Promise<{ readonly isError: boolean }>;
}

/** Reads something for display, again and again. While later reads fail, what was read before stays on display. */
export function useRead<Data, Key extends QueryKey>(
  options: UseQueryOptions<Data, Error, Data, Key>,
): Shown<Data> {
  const { data, error, dataUpdatedAt, isLoading, refetch } = useQuery(options);
  const shown = isGone(error) ? undefined : data;
  const failure = shown === undefined ? error : null;
  return { data: shown, error: failure, isLoading, refetch, at: dataUpdatedAt, failure: error };
}

const PROBE_LIMIT_MS = 3_000;

/** The status of an address; 0 without a response of its own: a proxy before it answers with a page. */
async function probe(path: string): Promise<number> {
  try {
    const response = await fetch(path, { signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
    await response.json();
    return response.status;
  } catch {
    return 0;
  }
}

/** What the page does not reach now. */
export function useOutage(): Outage | null {
  const { connector: hasConnector } = mode();
  const { isLate } = useScreenReading();
  const { data } = useQuery({
    queryKey: ['answers'],
    queryFn: async () => {
      const [server, ready] = await Promise.all(
        ['/console.json', hasConnector ? '/connector/readyz' : '/healthz'].map(probe),
      );
      return { server: server ?? 0, ready: ready ?? 0 };
    },
  });
  const { data: synced } = useRead({ ...SYNC_STATUS, enabled: hasConnector });
  const pollsFail = synced?.accounts.some(({ lastPoll }) => lastPoll?.ok === false) ?? false;
  return data === undefined ? null : outageOf({ ...data, hasConnector, isLate, pollsFail });
}
