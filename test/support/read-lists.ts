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

interface MessagePage {
  readonly messages: (Omit<MessageState, 'peer'> & { readonly peer?: string | null })[];
  readonly nextCursor: string | null;
}

/** All pages of a list of messages, the service's or the connector's. `path` has a query already. */
export async function readAllMessages(call: Caller, path: string): Promise<MessageState[]> {
  const found: MessageState[] = [];
  let cursor = '';
  for (;;) {
    const page = await call<MessagePage>('GET', `${path}${cursor}`);
    found.push(...page.messages.map((message) => ({ ...message, peer: message.peer ?? null })));
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

/** All entries of a list of the sandbox. `path` has a query already. */
export async function readAllEntries<Entry>(sandbox: Caller, path: string): Promise<Entry[]> {
  const found: Entry[] = [];
  let cursor = '';
  for (;;) {
    const page = await sandbox<{ entries: Entry[]; nextCursor?: string | null }>('GET', `${path}${cursor}`);
    found.push(...page.entries);
    if (page.nextCursor === undefined || page.nextCursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

/** All sends that a connector knows. */
export async function readAllOutbound(connector: Caller): Promise<Outbound[]> {
  const found: Outbound[] = [];
  for (let cursor = ''; ; ) {
    const page = await connector<{ outbound: Outbound[]; nextCursor: string | null }>(
      'GET',
      `/v1/outbound?limit=300${cursor}`,
    );
    found.push(...page.outbound);
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}
