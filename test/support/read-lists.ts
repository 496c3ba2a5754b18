import type { Outbound } from '../../src/contract/connector/outbound.ts';
import type { MessageState } from './check-invariants.ts';
import { callJson } from './loop-client.ts';

/** Calls a JSON API. Throws an error with the answer unless it is a 2xx. */
export type Caller = <Body>(method: string, path: string, body?: unknown) => Promise<Body>;

/** Calls under `base`, with a bearer token if there is one. */
export function createCaller(base: string, token?: string): Caller {
  return (method, path, body) =>
    callJson(`${base}${path}`, { method, body, ...(token === undefined ? {} : { token }) });
}

/** All pages of a list, which is in the field `list` of each. `path` has a query already. */
async function readAll<Item, List extends string>(call: Caller, path: string, list: List): Promise<Item[]> {
  type Page = Readonly<Record<List, Item[]>> & { readonly nextCursor?: string | null };
  const found: Item[] = [];
  for (let cursor = ''; ; ) {
    const page = await call<Page>('GET', `${path}${cursor}`);
    found.push(...page[list]);
    if (page.nextCursor === undefined || page.nextCursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

/** All messages of a list, the service's or the connector's. */
export async function readAllMessages(call: Caller, path: string): Promise<MessageState[]> {
  type Listed = Omit<MessageState, 'peer'> & { readonly peer?: string | null };
  const found = await readAll<Listed, 'messages'>(call, path, 'messages');
  return found.map((message) => ({ ...message, peer: message.peer ?? null }));
}

/** All entries of a list of the sandbox. */
export const readAllEntries = <Entry>(sandbox: Caller, path: string): Promise<Entry[]> =>
  readAll(sandbox, path, 'entries');

/** All sends that a connector knows. */
export const readAllOutbound = (connector: Caller): Promise<Outbound[]> =>
  readAll(connector, '/v1/outbound?limit=300', 'outbound');
