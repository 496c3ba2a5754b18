import { getTableColumns } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { commitBatch } from '../db/commit-batch.ts';
import { eachText, type MessageFacts } from '../db/facts.ts';
import { messages } from '../db/schema.ts';
import { readInboxSince } from '../db/time-partitions.ts';
import { numberChanges } from '../feed/sequencer.ts';
import { blamesData } from '../inbox/commit-deliveries.ts';
import { listNextMessages, lockUnmerged, readKeptDeliveries } from './kept-deliveries.ts';

/** A stored message that lacks something of its deliveries, or a missing one. */
export interface MessageDifference {
  readonly connectionId: string;
  readonly messageId: string;
  /** The fields that merging them changes. Their values would be somebody's words. */
  readonly fields: readonly string[];
}

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
  /** Those that lack something that was delivered. */
  readonly different: number;
  /** Stored messages that were changed. */
  readonly applied: number;
}

const PAGE_DEADLINE_MS = 60_000;

/** Ends a transaction whose changes are discarded. */
const ROLL_BACK = new Error('rolled back');

/** Result of a page of messages. */
interface Page extends Pick<ReplaySummary, 'deliveries' | 'invalid' | 'refused' | 'messages' | 'applied'> {
  readonly differences: readonly MessageDifference[];
}

/**
 * Merges the kept days of the raw inbox again with the current code, in one transaction for each page of
 * messages. The transaction is rolled back, or committed if `apply` is true; then the changes appear in the
 * feed. A page is locked for some milliseconds, so the connector may run at the same time. Memory is bounded by
 * a page. What was invalid when it arrived is read again by a worker, see `read-again.ts`. Throws as `query` does,
 * and the reason of `signal` when it is aborted.
 */
export async function replay(options: ReplayOptions): Promise<ReplaySummary> {
  const { database, apply, signal, onDifference, onProgress } = options;
  const keptSince = await readInboxSince(database);
  const counts = { deliveries: 0, invalid: 0, refused: 0, messages: 0, applied: 0 };
  let different = 0;
  let ids = await listNextMessages(database, '');
  while (ids.length > 0) {
    signal.throwIfAborted();
    for await (const page of mergePages(options, ids)) {
      for (const key of ['deliveries', 'invalid', 'refused', 'messages', 'applied'] as const)
        counts[key] += page[key];
      different += page.differences.length;
      page.differences.forEach(onDifference);
      onProgress(counts);
      signal.throwIfAborted();
    }
    ids = await listNextMessages(database, ids.at(-1) ?? '');
  }
  if (apply && counts.applied > 0) await numberChanges(database);
  return { keptSince, ...counts, different };
}

/** Merges the deliveries of these messages. Halves them until a message that the database refuses is found. */
async function* mergePages(options: ReplayOptions, ids: readonly string[]): AsyncGenerator<Page> {
  const page = await mergePage(options, ids);
  if (page.refused > 0 && ids.length > 1) {
    const middle = Math.ceil(ids.length / 2);
    yield* mergePages(options, ids.slice(0, middle));
    yield* mergePages(options, ids.slice(middle));
  } else yield page;
}

/**
 * Merges the deliveries of a page in one transaction. If the database refuses a single delivery, all of its
 * facts count as refused.
 */
async function mergePage({ database, clock, apply }: ReplayOptions, ids: readonly string[]): Promise<Page> {
  let page: Page | undefined;
  const work = (): Promise<void> =>
    database.transaction(
      async (tx) => {
        await lockUnmerged(tx, ids);
        // Once the messages are locked, everything that was merged into them is visible.
        const before = await readLive(tx, ids);
        const { facts, ...counts } = await readKeptDeliveries(tx, ids);
        page = { ...counts, refused: facts.length, messages: 0, applied: 0, differences: [] };
        const { masks } = await commitBatch(tx, { now: clock.now(), messages: facts, via: 'replay' });
        const found = compare(ids, before, await readLive(tx, ids), facts);
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

type LiveMessage = Pick<
  typeof messages.$inferSelect,
  'id' | 'accountId' | 'connectionId' | (typeof MERGED)[number]
>;

/** Reads and locks messages in the order of the merge. */
async function readLive(db: Queryable, ids: readonly string[]): Promise<LiveMessage[]> {
  return await orm(db)
    .select(getTableColumns(messages))
    .from(messages)
    .where(isAnyOf(messages.id, ids))
    .orderBy(messages.connectionId, messages.id)
    .for('update');
}

/** What a message is before its first report. */
const MISSING = {
  ...eachText(() => null),
  ...({ status: null, createdAt: null, webhookSeen: 0, statusConflict: false } as const),
};
const MERGED = Object.keys(MISSING) as (keyof typeof MISSING)[];

/** A delivery through a different account than the connection's is never merged, so its message is not counted. */
function compare(
  ids: readonly string[],
  before: readonly LiveMessage[],
  after: readonly LiveMessage[],
  facts: readonly MessageFacts[],
): Pick<Page, 'messages' | 'differences'> {
  const keyOf = (id: string, { connectionId, accountId }: LiveMessage | MessageFacts): string =>
    `${id}\n${connectionId}\n${accountId}`;
  const previous = new Map(before.map((message) => [keyOf(message.id, message), message]));
  const reported = new Set(facts.map((fact) => keyOf(fact.messageId, fact)));
  const byId = Map.groupBy(after, ({ id }) => id);
  const named = ids.flatMap((id) => byId.get(id) ?? []).filter((now) => reported.has(keyOf(now.id, now)));
  const differences = named.flatMap((now) => {
    const old = previous.get(keyOf(now.id, now)) ?? MISSING;
    const fields = MERGED.filter((field) => now[field] !== old[field]);
    return fields.length === 0 ? [] : [{ messageId: now.id, connectionId: now.connectionId, fields }];
  });
  return { messages: named.length, differences };
}
