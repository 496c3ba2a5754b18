import type { QueryClient } from '@tanstack/react-query';
import { paced } from './gather.ts';
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

/** Turns events into invalidations: a query whose key begins with the name of a list is read again when the list changes. */
export function createInvalidator(queries: QueryClient): (event: StreamEvent) => void {
  const readers = new Map<string, () => void>();
  const readerOf = (list: string): (() => void) => {
    const queryKey = list === 'everything' ? [] : [list];
    const reader = readers.get(list) ?? paced(() => queries.invalidateQueries({ queryKey }));
    readers.set(list, reader);
    return reader;
  };
  return (event) => {
    for (const list of listsOf(event)) readerOf(list)();
  };
}
