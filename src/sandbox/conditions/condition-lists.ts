import type { ApiCall } from '../../contract/sandbox/calls.ts';
import { CONDITION_KEYS, type ConditionList } from '../../contract/sandbox/conditions.ts';
import type { ListedConnection } from '../../contract/sandbox/connections.ts';
import type { Delivery } from '../../contract/sandbox/deliveries.ts';
import { type Filter, writeFilter } from '../../contract/sandbox/filter.ts';
import type { StoredMessage } from '../../contract/sandbox/messages.ts';
import { readFilter } from '../control/read-filter.ts';

export interface ConditionEntries {
  readonly deliveries: Delivery;
  readonly calls: ApiCall;
  readonly messages: StoredMessage;
  readonly connections: ListedConnection;
}

/** The first page of each list, newest first. `q` filters it. */
export type ConditionLists = {
  readonly [List in ConditionList]: (q: string, limit: number) => Promise<ConditionEntries[List][]>;
};

type Entry = ConditionEntries[ConditionList];

const WORDS: { readonly [List in ConditionList]: (entry: ConditionEntries[List]) => string } = {
  deliveries: ({ id, event, outcome }) => `delivery ${id} (${event}, ${outcome})`,
  calls: ({ id, method, path, status, code }) =>
    `call ${id} (${method} ${path}, ${[status ?? 'reset', code ?? []].flat().join(' ')})`,
  messages: ({ id, direction, status }) => `message ${id} (${direction}, ${status})`,
  connections: ({ id, status }) => `connection ${id} (${status})`,
};

/** One entry of a list in a few words. */
export function nameEntry(list: ConditionList, entry: Entry): string {
  return (WORDS[list] as (entry: Entry) => string)(entry);
}

/** The filter of a list. Throws `invalid_request`, with the field that it was given in. */
export function readCondition(list: ConditionList, q: string, field = 'q'): Filter {
  return readFilter(CONDITION_KEYS[list], q, field);
}

/** An entry that meets all conditions but one, and that one. */
export interface AlmostMatch {
  readonly entry: Entry;
  readonly unmet: string;
}

/** Entries among `limit` that fail exactly one condition of the filter, by that condition; the newest first. */
export async function findAlmost(
  lists: ConditionLists,
  list: ConditionList,
  filter: Filter,
  limit: number,
): Promise<AlmostMatch[]> {
  // A single condition leaves nothing that an entry could meet.
  if (filter.length < 2) return [];
  const matching = new Set((await lists[list](writeFilter(filter), limit)).map(({ id }) => id));
  const found: AlmostMatch[] = [];
  for (const clause of filter) {
    const others = filter.filter((other) => other !== clause);
    for (const entry of await lists[list](writeFilter(others), limit)) {
      if (!matching.has(entry.id)) found.push({ entry, unmet: writeFilter([clause]) });
    }
  }
  return found;
}
