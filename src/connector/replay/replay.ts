import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { foldMessages } from '../db/fold-facts.ts';
import { readInboxSince } from '../db/inbox-partitions.ts';
import { numberChanges } from '../feed/sequencer.ts';
import { blamesData } from '../inbox/commit-deliveries.ts';
import {
  type DifferenceKind,
  differenceOf,
  type LiveMessage,
  type MessageDifference,
  readLiveMessages,
} from './difference.ts';
import { listNextMessages, readKeptDeliveries, readUnnamedDeliveries } from './kept-deliveries.ts';

export interface ReplayOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Commits what the merge changes. If false, everything is rolled back. */
  readonly apply: boolean;
  readonly signal: AbortSignal;
  /** Called for each message that differs, in order of their ids. */
  readonly onDifference: (difference: MessageDifference) => void;
  /** Called after each page with the progress of the replay. */
  readonly onProgress: (progress: { readonly deliveries: number; readonly messages: number }) => void;
}

export interface ReplaySummary {
  /** When the oldest kept day begins, epoch ms; null if there is none. */
  readonly keptSince: number | null;
  /** Deliveries about messages. */
  readonly deliveries: number;
  /** Those that still report nothing, because their fields are invalid. */
  readonly invalid: number;
  /** Those about messages that the database refuses. */
  readonly refused: number;
  /** Messages that deliveries of the kept days name. */
  readonly messages: number;
  readonly different: Readonly<Record<DifferenceKind, number>>;
  /** Stored messages that were changed. */
  readonly applied: number;
}

const PAGE_DEADLINE_MS = 60_000;

/** Ends a transaction whose changes are discarded. */
const ROLL_BACK = new Error('rolled back');

/** Deliveries that named no message when they arrived but do now, by message. */
type Unnamed = ReadonlyMap<string, readonly MessageFacts[]>;

/** Result of a page of messages. */
interface Page extends Pick<ReplaySummary, 'deliveries' | 'invalid' | 'refused' | 'messages' | 'applied'> {
  readonly differences: readonly MessageDifference[];
}

/**
 * Merges the kept days of the raw inbox again with the current code, in one transaction for each page of
 * messages. The transaction is rolled back, or committed if `apply` is true; then the changes appear in the
 * feed. A page is locked for some milliseconds, so the connector may run at the same time. Memory is bounded by
 * a page, and by the deliveries that named no message when they arrived but do now. Throws as `query` does, and
 * the reason of `signal` when it is aborted.
 */
export async function replay(options: ReplayOptions): Promise<ReplaySummary> {
  const { database, apply, signal, onDifference, onProgress } = options;
  const keptSince = await readInboxSince(database);
  const counts = { deliveries: 0, invalid: 0, refused: 0, messages: 0, applied: 0 };
  const different = { missing: 0, behind: 0, differs: 0, unexplained: 0 };
  const unnamed = new Map<string, MessageFacts[]>();
  for await (const { facts, deliveries, invalid } of readUnnamedDeliveries(database, signal)) {
    counts.deliveries += deliveries;
    counts.invalid += invalid;
    for (const fact of facts) unnamed.set(fact.messageId, [...(unnamed.get(fact.messageId) ?? []), fact]);
  }
  let ids = await listNextMessages(database, '', [...unnamed.keys()]);
  while (ids.length > 0) {
    signal.throwIfAborted();
    for await (const page of mergePages(options, ids, unnamed, keptSince ?? 0)) {
      for (const key of ['deliveries', 'invalid', 'refused', 'messages', 'applied'] as const)
        counts[key] += page[key];
      for (const difference of page.differences) {
        different[difference.kind] += 1;
        onDifference(difference);
      }
      onProgress(counts);
      signal.throwIfAborted();
    }
    ids = await listNextMessages(database, ids.at(-1) ?? '', [...unnamed.keys()]);
  }
  if (apply && counts.applied > 0) await numberChanges(database);
  return { keptSince, ...counts, different };
}

/** Merges the deliveries of these messages. Halves them until a message that the database refuses is found. */
async function* mergePages(
  options: ReplayOptions,
  ids: readonly string[],
  unnamed: Unnamed,
  keptSince: number,
): AsyncGenerator<Page> {
  const page = await mergePage(options, ids, unnamed, keptSince);
  if (page.refused > 0 && ids.length > 1) {
    const middle = Math.ceil(ids.length / 2);
    yield* mergePages(options, ids.slice(0, middle), unnamed, keptSince);
    yield* mergePages(options, ids.slice(middle), unnamed, keptSince);
  } else yield page;
}

/**
 * Merges the deliveries of a page in one transaction. If the database refuses a single delivery, all of its
 * facts count as refused.
 */
async function mergePage(
  { database, clock, apply }: ReplayOptions,
  ids: readonly string[],
  unnamed: Unnamed,
  keptSince: number,
): Promise<Page> {
  let page: Page | undefined;
  const work = (): Promise<void> =>
    database.transaction(
      async (tx) => {
        // Once the messages are locked, everything that was merged into them is visible.
        const before = await readLiveMessages(tx, ids, true);
        const { facts: named, ...counts } = await readKeptDeliveries(tx, ids);
        const facts = [...named, ...ids.flatMap((id) => unnamed.get(id) ?? [])];
        page = { ...counts, refused: facts.length, messages: 0, applied: 0, differences: [] };
        const { masks } = await commitBatch(tx, { now: clock.now(), messages: facts, via: 'replay' });
        const found = compare(ids, before, await readLiveMessages(tx, ids, false), facts, keptSince);
        const changed = [...masks.values()].reduce((sum, number) => sum + number, 0);
        page = { ...counts, refused: 0, ...found, applied: apply ? changed : 0 };
        if (!apply) throw ROLL_BACK;
      },
      { deadlineMs: PAGE_DEADLINE_MS },
    );
  await retryOnce(work).catch((error: unknown) => {
    if (error !== ROLL_BACK && !blamesData(error)) throw error;
  });
  if (page === undefined) throw new Error('a page of the replay was not read');
  return page;
}

/** A delivery through a different account than the connection's is never merged, so it is not compared. */
function compare(
  ids: readonly string[],
  before: readonly LiveMessage[],
  after: readonly LiveMessage[],
  facts: readonly MessageFacts[],
  keptSince: number,
): Pick<Page, 'messages' | 'differences'> {
  const keyOf = (id: string, { connectionId, accountId }: LiveMessage | MessageFacts): string =>
    `${id}\n${connectionId}\n${accountId}`;
  const previous = new Map(before.map((message) => [keyOf(message.id, message), message]));
  const reported = new Map(foldMessages(facts).messages.map((fact) => [keyOf(fact.messageId, fact), fact]));
  const differences = [];
  let messages = 0;
  const byId = Map.groupBy(after, ({ id }) => id);
  for (const now of ids.flatMap((id) => byId.get(id) ?? [])) {
    const key = keyOf(now.id, now);
    const fact = reported.get(key);
    if (fact === undefined) continue;
    messages += 1;
    const difference = differenceOf(previous.get(key), now, fact, keptSince);
    if (difference !== null) differences.push(difference);
  }
  return { messages, differences };
}
