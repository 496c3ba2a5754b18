import { sql } from 'drizzle-orm';
import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { feed } from '../db/feed-tables.ts';
import { changeColumns, presentChange, type StoredChange } from './present-change.ts';

/** Filters the feed; an absent field matches everything. */
export interface ChangeFilter {
  readonly accountId?: string | undefined;
  readonly connectionId?: string | undefined;
}

/**
 * Up to `limit` numbered changes with a `seq` above `after`, in order. The inner query makes the planner go
 * through the batches in order: otherwise the size of the feed could make it read all of it.
 */
export async function readChanges(database: Queryable, after: number, limit: number): Promise<Change[]> {
  return await readBatches(database, '', '', [after, limit]);
}

/** The changes of a section of the feed that pass a filter. */
export interface FilteredChanges {
  readonly changes: readonly Change[];
  /** Up to here, only changes that the filter excludes are missing. At the end of the feed, its last number. */
  readonly reached: number;
  /** The feed continues after `reached`. */
  readonly hasMore: boolean;
}

/** Number of changes that one statement scans: its cost does not grow with the feed, however few it finds. */
const STRETCH = 10_000;

/** The changes that pass a filter in the section of the feed after `after`: up to `limit`, in order. */
export async function readFiltered(
  database: Queryable,
  after: number,
  limit: number,
  { accountId, connectionId }: ChangeFilter,
): Promise<FilteredChanges> {
  const [end] = await database.query<{ upto: number | null; last_seq: number }>(
    `SELECT feed.last_seq, (SELECT b.last_seq FROM connector.change_batches b
              WHERE next.last_seq IS NOT NULL
                AND b.last_seq <= greatest($1::bigint + ${STRETCH}, next.last_seq)
              ORDER BY b.last_seq DESC LIMIT 1) AS upto
       FROM connector.last_seq() AS feed (last_seq)
       LEFT JOIN (SELECT b.last_seq FROM connector.change_batches b
                   WHERE b.last_seq > $1::bigint ORDER BY b.last_seq LIMIT 1) next ON true`,
    [after],
  );
  if (end?.upto == null) return { changes: [], reached: Math.max(after, end?.last_seq ?? 0), hasMore: false };
  const params = [after, limit, end.upto, accountId ?? null, connectionId ?? null];
  const passing = `AND ($4::text IS NULL OR account_id = $4) AND ($5::text IS NULL OR connection_id = $5)`;
  const changes = await readBatches(database, passing, 'AND b.last_seq <= $3::bigint', params);
  const last = changes.length < limit ? undefined : changes.at(-1);
  const reached = last?.seq ?? end.upto;
  return { changes, reached, hasMore: reached < end.last_seq };
}

/** A page of the feed. `next` is where the following page starts, even if there is no more yet. */
export interface ChangePage {
  readonly changes: readonly Change[];
  readonly next: number;
  readonly hasMore: boolean;
}

/** Maximum number of sections that one page scans for changes that pass its filter. */
const MAX_STRETCHES = 50;
/** After this time, a page scans no further section: one that is never answered would be asked for again for ever. */
const SCAN_MS = 2_000;

/**
 * Up to `limit` changes after `after`, in order. With a filter that matches few changes, a page may end
 * early, even empty, with `next` after what was scanned.
 */
export async function readChangePage(
  database: Queryable,
  clock: Clock,
  after: number,
  limit: number,
  filter: ChangeFilter = {},
): Promise<ChangePage> {
  const found: Change[] = [];
  const lateAt = clock.elapsed() + SCAN_MS;
  let position = after;
  if (filter.accountId === undefined && filter.connectionId === undefined) {
    found.push(...(await readChanges(database, after, limit + 1)));
    if (found.length <= limit) return { changes: found, next: found.at(-1)?.seq ?? after, hasMore: false };
  }
  for (let stretch = 0; stretch < MAX_STRETCHES && found.length <= limit; stretch += 1) {
    const { changes, reached, hasMore } = await readFiltered(
      database,
      position,
      limit + 1 - found.length,
      filter,
    );
    found.push(...changes);
    position = reached;
    if (!hasMore && found.length <= limit) return { changes: found, next: position, hasMore };
    if (clock.elapsed() >= lateAt) break;
  }
  if (found.length <= limit) return { changes: found, next: position, hasMore: true };
  const changes = found.slice(0, limit);
  return { changes, next: changes.at(-1)?.seq ?? after, hasMore: true };
}

async function readBatches(
  database: Queryable,
  passing: string,
  bound: string,
  params: readonly unknown[],
): Promise<Change[]> {
  const rows = await database.query<StoredChange>(
    `SELECT b.last_seq - b.size + c.position AS seq, ${changeColumns('c')}
       FROM connector.change_batches b
      CROSS JOIN LATERAL (
        SELECT * FROM connector.changes WHERE batch = b.id AND at = b.changed_at ${passing} ORDER BY position OFFSET 0) c
      WHERE b.last_seq > $1::bigint ${bound} AND b.last_seq - b.size + c.position > $1::bigint
      ORDER BY b.last_seq, c.position LIMIT $2::bigint`,
    params,
  );
  return rows.map(presentChange);
}

/** Where a feed begins and ends. */
export interface FeedPosition {
  readonly feedId: string;
  readonly lastSeq: number;
  /** Changes up to this number may have been deleted. */
  readonly deletedSeq: number;
}

/** The id of the feed, the last assigned number, and up to where changes were deleted. */
export async function readPosition(database: Queryable): Promise<FeedPosition> {
  const [row] = await orm(database)
    .select({ feedId: feed.id, lastSeq: sql<number>`connector.last_seq()`, deletedSeq: feed.deletedSeq })
    .from(feed);
  return row ?? { feedId: '', lastSeq: 0, deletedSeq: 0 };
}

/** True for a change that passes the filter. */
export function passesFilter(change: Change, filter: ChangeFilter): boolean {
  return (
    (filter.accountId === undefined || filter.accountId === change.accountId) &&
    (filter.connectionId === undefined || filter.connectionId === change.connectionId)
  );
}
