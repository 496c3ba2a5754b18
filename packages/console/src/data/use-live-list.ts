import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { stream } from './live.ts';
import { LiveList, type LiveListSource, type LiveListState } from './live-list.ts';

/** The lists of the last few filters, so that going back finds the same rows at the same place. */
const kept = new Map<string, LiveList<unknown>>();
const MOST_KEPT = 6;

function keep<Row>(source: LiveListSource<Row>): LiveList<Row> {
  const known = kept.get(source.key) as LiveList<Row> | undefined;
  const list = known ?? new LiveList(source);
  kept.delete(source.key);
  kept.set(source.key, list as LiveList<unknown>);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  return list;
}

/** All rows of all lists may be gone. */
export function restartLists(): void {
  for (const list of kept.values()) list.restart();
}

/** A live list for a component; while it is mounted, it follows the stream, and its newest page is read again by itself. */
export function useLiveList<Row>(source: LiveListSource<Row>): [LiveListState<Row>, LiveList<Row>] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the source
  const list = useMemo(() => keep(source), [source.key]);
  useEffect(() => stream().listen((event) => list.hear(event)), [list]);
  useQuery({
    queryKey: ['rows', source.key],
    async queryFn() {
      const failure = await list.readHead();
      if (failure !== null) throw failure;
      return null;
    },
  });
  return [useSyncExternalStore(list.subscribe, list.snapshot), list];
}
