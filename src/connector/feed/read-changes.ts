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
export async function readChanges(
  database: Queryable,
  after: number,
  limit: number,
  filter: ChangeFilter = {},
): Promise<Change[]> {
  const { accountId = null, connectionId = null } = filter;
  const all = accountId === null && connectionId === null;
  const rows = await database.query<StoredChange>(
    `SELECT b.last_seq - b.size + c.position AS seq, ${CHANGE_COLUMNS}
       FROM connector.change_batches b
      CROSS JOIN LATERAL (
        SELECT * FROM connector.changes
         WHERE batch = b.id${all ? '' : ' AND ($3::text IS NULL OR account_id = $3) AND ($4::text IS NULL OR connection_id = $4)'}
         ORDER BY position OFFSET 0) c
      WHERE b.last_seq > $1::bigint AND b.last_seq - b.size + c.position > $1::bigint
      ORDER BY b.last_seq, c.position LIMIT $2::bigint`,
    all ? [after, limit] : [after, limit, accountId, connectionId],
  );
  return rows.map(presentChange);
}

/** Where the feed stands: the last number given, and whether committed changes wait for theirs. */
export async function readPosition(
  database: Queryable,
): Promise<{ readonly lastSeq: number; readonly waiting: boolean }> {
  const [row] = await database.query<{ last_seq: number; waiting: boolean }>(
    `SELECT f.last_seq, EXISTS (SELECT FROM connector.change_batches b WHERE b.last_seq IS NULL) AS waiting
       FROM connector.feed f`,
  );
  return { lastSeq: row?.last_seq ?? 0, waiting: row?.waiting ?? false };
}

/** True for a change that the filter lets through. */
export function passesFilter(change: Change, filter: ChangeFilter): boolean {
  return (
    (filter.accountId === undefined || filter.accountId === change.accountId) &&
    (filter.connectionId === undefined || filter.connectionId === change.connectionId)
  );
}
