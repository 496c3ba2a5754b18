import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { sandbox } from './client.ts';
import { queries } from './live.ts';

const listeners = new Set<() => void>();
let second = Date.now();

// The one timer of the page moves the times on display. It never stops: there is always one.
setInterval(() => {
  second = Date.now();
  for (const each of listeners) each();
}, 1_000);

function onSecond(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The real time in epoch milliseconds, drawn again each second. */
export function useRealNow(): number {
  return useSyncExternalStore(onSecond, () => second);
}

/** The query for the virtual time when it was read, and its lead over real time. */
export const VIRTUAL_TIME = {
  queryKey: ['clock'],
  async queryFn() {
    const { now, frozen } = await sandbox('GET', '/clock');
    return { offset: Date.parse(now) - Date.now(), at: Date.parse(now), frozen };
  },
};

/** Virtual time, moving with real time unless it is frozen. Undefined until it is known. */
export function useVirtualNow(): { readonly now: number; readonly isFrozen: boolean } | undefined {
  const real = useRealNow();
  const { data } = useQuery(VIRTUAL_TIME);
  if (data === undefined) return undefined;
  return { now: data.frozen ? data.at : Math.max(data.at, real + data.offset), isFrozen: data.frozen };
}

/** How far virtual time is ahead of real time, in milliseconds; 0 where there is no virtual time. */
export function virtualLead(): number {
  return queries.getQueryData<{ readonly offset: number }>(['clock'])?.offset ?? 0;
}
