import type { Change } from '../../contract/connector/changes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { CHANGE_COLUMNS, presentChange, type StoredChange } from './present-change.ts';

/** Narrows the feed; an absent field takes all. */
export interface ChangeFilter {
  readonly accountId?: string | undefined;
  readonly connectionId?: string | undefined;
}

/**
 * Up to `limit` numbered changes with a `seq` above `after`, in order. The inner query keeps the planner at
 * going through the batches in order: it must not take the size of the feed for a reason to read all of it.
 */
export async function readChanges(database: Queryable, after: number, limit: number): Promise<Change[]> {
  return await readBatches(database, '', '', [after, limit]);
}

/** Changes of a stretch of the feed that pass a filter. */
export interface FilteredChanges {
  readonly changes: readonly Change[];
  /** Up to here nothing was left out but by the filter. */
  readonly reached: number;
  /** The feed goes on behind `reached`. */
  readonly hasMore: boolean;
}

/** Changes that one statement goes through: what it costs does not grow with the feed, however few it finds. */
const STRETCH = 10_000;

/** What passes a filter of the stretch of the feed behind `after`: up to `limit` changes, in order. */
export async function readFiltered(
  database: Queryable,
  after: number,
  limit: number,
  { accountId, connectionId }: ChangeFilter,
): Promise<FilteredChanges> {
  const [end] = await database.query<{ upto: number; last_seq: number }>(
    `SELECT f.last_seq, (SELECT b.last_seq FROM connector.change_batches b
              WHERE b.last_seq <= greatest($1::bigint + ${STRETCH}, next.last_seq)
              ORDER BY b.last_seq DESC LIMIT 1) AS upto
       FROM connector.feed f
      CROSS JOIN (SELECT b.last_seq FROM connector.change_batches b
                   WHERE b.last_seq > $1::bigint ORDER BY b.last_seq LIMIT 1) next`,
    [after],
  );
  if (end === undefined) return { changes: [], reached: after, hasMore: false };
  const params = [after, limit, end.upto, accountId ?? null, connectionId ?? null];
  const passing = `AND ($4::text IS NULL OR account_id = $4) AND ($5::text IS NULL OR connection_id = $5)`;
  const changes = await readBatches(database, passing, 'AND b.last_seq <= $3::bigint', params);
  const last = changes.length < limit ? undefined : changes.at(-1);
  const reached = last?.seq ?? end.upto;
  return { changes, reached, hasMore: reached < end.last_seq };
}

/** A page of the feed. `next`: where the following one begins; null when there is no more yet. */
export interface ChangePage {
  readonly changes: readonly Change[];
  readonly next: number | null;
}

/** Stretches that one page goes through in search of what passes its filter. */
const MOST_STRETCHES = 50;

/**
 * Up to `limit` changes behind `after`, in order. A filter that lets little through may end a page early, even an
 * empty one, with `next` behind what was looked at.
 */
export async function readChangePage(
  database: Queryable,
  after: number,
  limit: number,
  filter: ChangeFilter = {},
): Promise<ChangePage> {
  const found: Change[] = [];
  let position = after;
  if (filter.accountId === undefined && filter.connectionId === undefined) {
    found.push(...(await readChanges(database, after, limit + 1)));
    if (found.length <= limit) return { changes: found, next: null };
  }
  for (let stretch = 0; stretch < MOST_STRETCHES && found.length <= limit; stretch += 1) {
    const { changes, reached, hasMore } = await readFiltered(
      database,
      position,
      limit + 1 - found.length,
      filter,
    );
    found.push(...changes);
    position = reached;
    if (!hasMore && found.length <= limit) return { changes: found, next: null };
  }
  if (found.length <= limit) return { changes: found, next: position };
  const changes = found.slice(0, limit);
  return { changes, next: changes.at(-1)?.seq ?? after };
}

async function readBatches(
  database: Queryable,
  passing: string,
  bound: string,
  params: readonly unknown[],
): Promise<Change[]> {
  const rows = await database.query<StoredChange>(
    `SELECT b.last_seq - b.size + c.position AS seq, ${CHANGE_COLUMNS}
       FROM connector.change_batches b
      CROSS JOIN LATERAL (
        SELECT * FROM connector.changes WHERE batch = b.id ${passing} ORDER BY position OFFSET 0) c
      WHERE b.last_seq > $1::bigint ${bound} AND b.last_seq - b.size + c.position > $1::bigint
      ORDER BY b.last_seq, c.position LIMIT $2::bigint`,
    params,
  );
  return rows.map(presentChange);
}

/** Where the feed stands: its name, the last number given, and whether committed changes wait for theirs. */
export async function readPosition(
  database: Queryable,
): Promise<{ readonly feedId: string; readonly lastSeq: number; readonly waiting: boolean }> {
  const [row] = await database.query<{ id: string; last_seq: number; waiting: boolean }>(
    `SELECT f.id, f.last_seq, EXISTS (SELECT FROM connector.change_batches b WHERE b.last_seq IS NULL) AS waiting
       FROM connector.feed f`,
  );
  return { feedId: row?.id ?? '', lastSeq: row?.last_seq ?? 0, waiting: row?.waiting ?? false };
}

/** True for a change that the filter lets through. */
export function passesFilter(change: Change, filter: ChangeFilter): boolean {
  return (
    (filter.accountId === undefined || filter.accountId === change.accountId) &&
    (filter.connectionId === undefined || filter.connectionId === change.connectionId)
  );
}
