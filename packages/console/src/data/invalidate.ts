import type { QueryClient } from '@tanstack/react-query';
import { gathered } from './gather.ts';
import type { StreamEvent } from './stream-event.ts';

/** What a fault has affected has changed its hit count. */
const hitsOf = (
  affected: readonly { readonly faults?: readonly string[] | undefined }[],
): readonly string[] => (affected.some(({ faults }) => faults !== undefined) ? ['faults'] : []);

/**
 * The first part of the key of each query: a list that the stream can name. `sync` is what the connector reports of
 * itself, which also changes by polls that bring nothing: in the sandbox, they show as calls.
 */
function listsOf(event: StreamEvent): readonly string[] {
  switch (event.type) {
    case 'ledger':
      return ['ledger'];
    case 'delivery':
      return ['deliveries', 'webhooks', ...hitsOf(event.entry.attempts)];
    case 'call':
      return ['calls', 'sync', ...hitsOf([event.entry])];
    case 'clock':
      return ['clock', 'timers'];
    case 'change':
      return ['connector', 'sync'];
    case 'changed':
      if (event.what === 'connector') return ['connector', 'sync'];
      return event.what === 'timers' ? ['timers', 'clock'] : [event.what];
  }
}

/**
 * Turns events into invalidations: a query whose key begins with the name of a list is read again when the list
 * changes, at most once per 100 ms, and never while it is still being read.
 */
export function createInvalidator(queries: QueryClient): (event: StreamEvent) => void {
  const waiting = new Set<string>();
  const reading = new Set<string>();

  const gather = gathered(() => {
    for (const list of [...waiting].filter((each) => !reading.has(each))) void readAgain(list);
  });
  const readAgain = async (list: string): Promise<void> => {
    waiting.delete(list);
    reading.add(list);
    await queries.invalidateQueries(list === 'everything' ? {} : { queryKey: [list] });
    reading.delete(list);
    if (waiting.has(list)) gather();
  };
  return (event) => {
    for (const list of listsOf(event)) waiting.add(list);
    gather();
  };
}
