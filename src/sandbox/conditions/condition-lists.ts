import type { ApiCall } from '../../contract/sandbox/calls.ts';
import { CONDITION_KEYS, type ConditionList } from '../../contract/sandbox/conditions.ts';
import type { ListedConnection } from '../../contract/sandbox/connections.ts';
import type { Delivery } from '../../contract/sandbox/deliveries.ts';
import type { Filter } from '../../contract/sandbox/filter.ts';
import type { StoredMessage } from '../../contract/sandbox/messages.ts';
import { readFilter } from '../control/read-filter.ts';

export interface ConditionEntries {
  readonly deliveries: Delivery;
  readonly calls: ApiCall;
  readonly messages: StoredMessage;
  readonly connections: ListedConnection;
}

/**
 * The first page of each list, newest first. `q` filters it, and so does `within`, another filter that must hold as
 * well: in one text, values of the same key would be alternatives.
 */
export type ConditionLists = {
  readonly [List in ConditionList]: (
    q: string,
    limit: number,
    within?: string,
  ) => Promise<ConditionEntries[List][]>;
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
