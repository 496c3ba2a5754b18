import type { LinkProps } from '@tanstack/react-router';
import { quoteValue } from '../../../../../src/contract/sandbox/quote-value.ts';
import { connector, ifKnown, sandbox } from '../../data/client.ts';
import { listNamed, nameOf } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { nameContact, readNumber } from '../../data/numbers.ts';
import { showDateTime } from '../../ui/times.tsx';
import { findMessages, isId, NEWEST, occursIn } from '../journey/find-messages.ts';

/** Something that was found, and where it is shown. */
export interface Hit {
  readonly id: string;
  readonly title: string;
  readonly hint: string;
  readonly to: Pick<LinkProps, 'to' | 'params' | 'search' | 'hash'>;
}

/** Hits of a kind that are shown at most. */
const MOST = 5;
const limit = String(MOST);
const newest = String(NEWEST);
/** Longer numbers are those of phones, and no ids of deliveries. */
const COUNTED = /^\d{1,9}$/;

const describe = (...words: readonly (string | null)[]): string => words.filter(Boolean).join(' · ');
const at = (iso: string): string => showDateTime(iso);

interface Wanted {
  readonly text: string;
  readonly number: string | undefined;
  /** The text as a filter of the lists of a sandbox. */
  readonly q: string;
  readonly connections: Awaited<ReturnType<typeof listNamed>>;
}
type Find = (wanted: Wanted) => Promise<readonly Hit[]>;

const messages: Find = async ({ text, q, connections }) => {
  const { entries } = await findMessages(
    mode().mode === 'sandbox' && !isId(text) ? q : text,
    undefined,
    limit,
  );
  return entries.map(({ id, text: words, mediaType, peer, connectionId, createdAt }) => {
    const name = nameOf(
      connections.find((each) => each.id === connectionId),
      connectionId,
    );
    return {
      id,
      title: words ?? mediaType ?? 'no text',
      hint: describe(peer && nameContact(peer), name, at(createdAt)),
      to: { to: '/journey/$id', params: { id } },
    };
  });
};

const connections: Find = async ({ text, number, connections: all }) =>
  all
    .filter(({ id, label, phoneNumber }) => occursIn(number ?? text, [id, label, phoneNumber]))
    .map(({ id, label, phoneNumber }) => ({
      id,
      title: label || (phoneNumber ?? id),
      hint: describe(phoneNumber && `+${phoneNumber}`, id),
      to:
        mode().mode === 'sandbox'
          ? { to: '/connections/$id', params: { id } }
          : { to: '/sync', search: {}, hash: `connection-${id}` },
    }));

const deliveries: Find = async ({ text, q }) => {
  const [{ entries }, known] = await Promise.all([
    sandbox('GET', '/deliveries', { query: { q, limit } }),
    COUNTED.test(text) ? ifKnown(sandbox('GET', '/deliveries/{id}', { params: { id: text } })) : null,
  ]);
  const all = known === null ? entries : [known, ...entries.filter(({ id }) => id !== known.id)];
  return all.map(({ id, event, outcome, createdAt }) => ({
    id,
    title: `${event} ${outcome}`,
    hint: describe(at(createdAt), id),
    to: { to: '/deliveries/$id', params: { id } },
  }));
};

const received: Find = async ({ text }) => {
  const all = await connector('GET', '/v1/deliveries', { query: { limit: newest } as object });
  return all.deliveries
    .filter(({ messageId, connectionId, reason, says }) =>
      occursIn(text, [messageId, connectionId, reason, says]),
    )
    .map(({ id, event, reason, status, at: time, messageId }) => ({
      id,
      title: event ?? reason ?? 'request',
      hint: describe(String(status ?? 'no answer'), at(time)),
      to:
        messageId === null
          ? { to: '/deliveries', search: reason === null ? {} : { q: 'refused' } }
          : { to: '/journey/$id', params: { id: messageId } },
    }));
};

const letters: Find = async ({ text, number }) => {
  const { deadLetters } = await connector('GET', '/v1/dead-letters', { query: { limit: newest } });
  return deadLetters
    .filter(({ id, lastError, change }) => occursIn(number ?? text, [id, lastError, JSON.stringify(change)]))
    .map(({ id, change, consumer, lastError }) => ({
      id,
      title: `${change.seq} ${change.type}`,
      hint: describe(consumer, lastError),
      to: { to: '/sync', search: {}, hash: `letter-${id}` },
    }));
};

/** What was found, by kind, and the kinds that could not be searched. */
export interface Findings {
  readonly text: string;
  readonly groups: readonly { readonly kind: string; readonly hits: readonly Hit[] }[];
  readonly unread: readonly string[];
}

/** Finds what has an id, a number or a text. Dead letters and received webhooks are searched among the newest. */
export async function find(text: string): Promise<Findings> {
  const isSandbox = mode().mode === 'sandbox';
  const sources: readonly (readonly [kind: string, find: Find])[] = [
    ['Messages', messages],
    ['Connections', connections],
    isSandbox ? ['Deliveries', deliveries] : ['Received webhooks', received],
    ...(mode().connector ? ([['Dead letters', letters]] as const) : []),
  ];
  const number = readNumber(text);
  const wanted = { text, number, q: number ?? quoteValue(text), connections: await listNamed() };
  const found = await Promise.allSettled(sources.map(([, search]) => search(wanted)));
  const groups = found.map((one, place) => ({
    kind: sources[place]?.[0] ?? '',
    hits: one.status === 'fulfilled' ? one.value.slice(0, MOST) : undefined,
  }));
  return {
    text,
    groups: groups.flatMap(({ kind, hits = [] }) => (hits.length === 0 ? [] : [{ kind, hits }])),
    unread: groups.flatMap(({ kind, hits }) => (hits === undefined ? [kind] : [])),
  };
}
