import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { foldMessages } from '../db/fold-facts.ts';
import { readInboxSince } from '../db/inbox-partitions.ts';
import { numberChanges } from '../feed/sequencer.ts';
import { blamesData } from '../inbox/commit-deliveries.ts';
import { interpretBody } from '../inbox/interpret-body.ts';
import {
  type DifferenceKind,
  differenceOf,
  type LiveMessage,
  type MessageDifference,
  readLiveMessages,
} from './difference.ts';
import {
  type KeptDelivery,
  listNextMessages,
  readKeptDeliveries,
  readUnnamedDeliveries,
} from './kept-deliveries.ts';

export interface ReplayOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Keeps what the merge changes. Off: all of it is rolled back. */
  readonly apply: boolean;
  readonly signal: AbortSignal;
  /** Told of each message that differs, in the order of their ids. */
  readonly onDifference: (difference: MessageDifference) => void;
  /** Told after each page how far the replay is. */
  readonly onProgress: (progress: { readonly deliveries: number; readonly messages: number }) => void;
}

export interface ReplaySummary {
  /** When the oldest kept day begins, epoch ms; null: there is none. */
  readonly keptSince: number | null;
  /** Deliveries about messages. */
  readonly deliveries: number;
  /** Those that still tell nothing: their fields do not fit. */
  readonly misfits: number;
  /** Those about messages that the database refuses. */
  readonly refused: number;
  /** Messages that the kept days tell of. */
  readonly messages: number;
  readonly different: Readonly<Record<DifferenceKind, number>>;
  /** Live messages that were changed. */
  readonly applied: number;
}

const PAGE_DEADLINE_MS = 60_000;

/** What ends a transaction whose changes nobody wants. */
const ROLL_BACK = new Error('rolled back');

type Facts = ReadonlyMap<string, readonly MessageFacts[]>;

/** What became of a page of messages. */
interface Page extends Pick<ReplaySummary, 'deliveries' | 'misfits' | 'refused' | 'messages' | 'applied'> {
  readonly differences: readonly MessageDifference[];
}

/**
 * Merges what the kept days of the raw inbox tell once more into the live messages, by the code and the rule of
 * today, in a transaction for each page of messages that is rolled back, or kept if `apply` says so; the feed tells
 * what was kept. A page is locked for some milliseconds, so the connector may run meanwhile. Memory is bounded by a
 * page, and by the deliveries that named no message when they came and do so now. Throws as `query` does, and what
 * `signal` says when it is aborted.
 */
export async function replay(options: ReplayOptions): Promise<ReplaySummary> {
  const { database, apply, signal, onDifference, onProgress } = options;
  const keptSince = await readInboxSince(database);
  const { facts: unnamed, ...found } = await readUnnamed(database, signal);
  const counts = { ...found, refused: 0, messages: 0, applied: 0 };
  const different = { missing: 0, behind: 0, differs: 0, unexplained: 0 };
  for (let after = ''; ; ) {
    const ids = await listNextMessages(database, after, [...unnamed.keys()]);
    const open = ids.length === 0 ? [] : [ids];
    for (let batch = open.pop(); batch !== undefined; batch = open.pop()) {
      signal.throwIfAborted();
      const page = await mergePage(options, batch, unnamed, keptSince ?? 0);
      if (page === null) {
        const middle = Math.ceil(batch.length / 2);
        open.push(batch.slice(middle), batch.slice(0, middle));
        continue;
      }
      for (const key of ['deliveries', 'misfits', 'refused', 'messages', 'applied'] as const)
        counts[key] += page[key];
      for (const difference of page.differences) {
        different[difference.kind] += 1;
        onDifference(difference);
      }
      onProgress(counts);
    }
    const last = ids.at(-1);
    if (last === undefined) break;
    after = last;
  }
  if (apply && counts.applied > 0) await numberChanges(database);
  return { keptSince, ...counts, different };
}

/** Merges the deliveries of a page. Null: the database refuses something of it, and it has more than one message. */
async function mergePage(
  { database, clock, apply }: ReplayOptions,
  ids: readonly string[],
  unnamed: Facts,
  keptSince: number,
): Promise<Page | null> {
  let page: Page | undefined;
  const work = (): Promise<void> =>
    database.transaction(
      async (tx) => {
        // Once the messages are locked, everything that was merged into them can be read.
        const before = await readLiveMessages(tx, ids, 'FOR UPDATE');
        const kept = await readKeptDeliveries(tx, ids);
        const facts = [...kept.flatMap(readFacts), ...ids.flatMap((id) => unnamed.get(id) ?? [])];
        const counts = {
          deliveries: count(kept),
          misfits: count(kept.filter((delivery) => readFacts(delivery).length === 0)),
        };
        page = { ...counts, refused: facts.length, messages: 0, applied: 0, differences: [] };
        const { masks } = await commitBatch(tx, { now: clock.now(), messages: facts, via: 'replay' });
        const after = await readLiveMessages(tx, ids);
        const found = compare(ids, before, after, facts, keptSince);
        const changed = [...masks.values()].reduce((sum, number) => sum + number, 0);
        page = { ...counts, refused: 0, ...found, applied: apply ? changed : 0 };
        if (!apply) throw ROLL_BACK;
      },
      { deadlineMs: PAGE_DEADLINE_MS },
    );
  try {
    await retryOnce(work);
  } catch (error) {
    if (blamesData(error) && ids.length > 1) return null;
    if (error !== ROLL_BACK && !blamesData(error)) throw error;
  }
  if (page === undefined) throw new Error('a page of the replay was not read');
  return page;
}

function compare(
  ids: readonly string[],
  before: readonly LiveMessage[],
  after: readonly LiveMessage[],
  facts: readonly MessageFacts[],
  keptSince: number,
): Pick<Page, 'messages' | 'differences'> {
  const keyOf = (message: LiveMessage | MessageFacts): string =>
    `${message.messageId}\n${message.connectionId}\n${message.accountId}`;
  const stood = new Map(before.map((message) => [keyOf(message), message]));
  const stands = new Map(after.map((message) => [keyOf(message), message]));
  // What came by another account than the connection's is merged into no message.
  const pairs = foldMessages(facts).messages.flatMap((told) => {
    const now = stands.get(keyOf(told));
    return now === undefined ? [] : [{ told, now }];
  });
  const places = new Map(ids.map((id, place) => [id, place]));
  const placeOf = (pair: (typeof pairs)[number]): number => places.get(pair.now.messageId) ?? 0;
  const differences = pairs
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .flatMap(({ told, now }) => differenceOf(stood.get(keyOf(now)), now, told, keptSince) ?? []);
  return { messages: pairs.length, differences };
}

/** What the deliveries tell that named no message when they came, by the message that they name now. */
async function readUnnamed(
  database: Database,
  signal: AbortSignal,
): Promise<{ readonly facts: Facts; readonly deliveries: number; readonly misfits: number }> {
  const facts = new Map<string, MessageFacts[]>();
  let deliveries = 0;
  let misfits = 0;
  for await (const delivery of readUnnamedDeliveries(database, signal)) {
    const told = readFacts(delivery);
    deliveries += 1;
    if (told.length === 0) misfits += 1;
    for (const fact of told) facts.set(fact.messageId, [...(facts.get(fact.messageId) ?? []), fact]);
  }
  return { facts, deliveries, misfits };
}

function readFacts({ body, accountId, signedAt }: KeptDelivery): MessageFacts[] {
  const told = interpretBody(Buffer.from(body), { accountId, signedAt });
  return told.kind === 'message' ? [told.message] : [];
}

function count(deliveries: readonly KeptDelivery[]): number {
  return deliveries.reduce((sum, { copies }) => sum + copies, 0);
}
