import type { ConnectorMessage } from '../../../../../src/contract/connector/messages.ts';
import type { StoredMessage } from '../../../../../src/contract/sandbox/messages.ts';
import { ApiError, connector, ifKnown, sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import type { Page } from '../../data/live-list.ts';
import { readNumber } from '../../data/numbers.ts';
import { readOwn } from '../../data/webhooks.ts';

/** A message of the service or of the connector. */
export type FoundMessage = StoredMessage | ConnectorMessage;

/** Whether a text can be an id: a long word of letters and digits. */
export const isId = (text: string): boolean => /^(?=.*\d)(?=.*[a-z])[\w-]{8,}$/i.test(text);

/** Whether a text occurs in one of these values. */
export function occursIn(text: string, values: readonly (string | null | undefined)[]): boolean {
  const wanted = text.toLowerCase();
  return values.some((value) => value?.toLowerCase().includes(wanted));
}

/** Digits from which on a number is one of a person. Fewer are searched as a text. */
const PERSON_DIGITS = 7;
/** So many of the newest messages are searched for a text where no server does it. */
export const NEWEST = 1_000;

type Found = Page<FoundMessage>;

async function findAtConnector(q: string, cursor: string | undefined, limit: string): Promise<Found> {
  const read = async (query: {
    readonly person?: string;
    readonly text?: string;
    readonly limit: string;
  }) => {
    const { messages, nextCursor } = await connector('GET', '/v1/messages', { query: { ...query, cursor } });
    return { entries: messages, nextCursor: nextCursor ?? undefined };
  };
  const person = readNumber(q) ?? '';
  if (q === '') return read({ limit });
  if (person.length >= PERSON_DIGITS) return read({ person, limit });
  const isFirst = cursor === undefined && isId(q);
  const known = isFirst ? await ifKnown(connector('GET', '/v1/messages/{id}', { params: { id: q } })) : null;
  if (known !== null) return { entries: [known] };
  // Without an index of texts, or for one that is too short for it, the page searches the newest ones.
  return read({ text: q, limit }).catch(async (error: unknown) => {
    if (!(error instanceof ApiError && ['search_off', 'invalid_request'].includes(error.code))) throw error;
    const { entries } = await read({ limit: String(NEWEST) });
    return { entries: entries.filter(({ text, peer }) => occursIn(q, [text, peer])) };
  });
}

async function findAtService(q: string, cursor: string | undefined, limit: string): Promise<Found> {
  const read = (filter: string) => sandbox('GET', '/messages', { query: { q: filter, cursor, limit } });
  const page = await read(q === '' ? await readOwn() : (readNumber(q) ?? q));
  if (cursor !== undefined || !isId(q)) return page;
  const { entries: known } = await read(`message:${q}*`);
  return { ...page, entries: [...known, ...page.entries.filter(({ id }) => !id.startsWith(q))] };
}

/**
 * Messages by the number of their contact, by id or by text, newest first; all, but those of the self-check, for an
 * empty `q`. In a sandbox, `q` is a filter of its lists, and the messages are those of the service, whether the
 * connector knows them or not. In production a text is searched in the newest 1,000 messages if there is no index of texts.
 */
export function findMessages(q: string, cursor: string | undefined, limit: string): Promise<Found> {
  return mode().mode === 'sandbox' ? findAtService(q, cursor, limit) : findAtConnector(q, cursor, limit);
}
