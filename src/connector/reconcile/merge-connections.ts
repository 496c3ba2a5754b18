import type { Queryable } from '../../runtime/database/database.ts';
import {
  compareListing,
  type KnownVersions,
  type ListedConnection,
  type ListingRows,
  listingCtes,
} from '../db/connection-listing.ts';
import { Parameters } from '../db/input-columns.ts';
import { heldLease, type Lease } from '../db/lease.ts';

export interface ListingMerge {
  readonly lease: Lease;
  readonly accountId: string;
  /** Epoch milliseconds, our clock. */
  readonly now: number;
  readonly known: KnownVersions;
  readonly listed: readonly ListedConnection[];
  readonly overlapMs: number;
}

export interface ListingResult {
  /** False if another process polls this account now, and nothing was written. */
  readonly applied: boolean;
  readonly changed: number;
  readonly hidden: number;
  /** Listed connections that belong to another account. */
  readonly foreign: number;
}

const p = new Parameters<ListingMerge & ListingRows>();
const NOW = p.take('bigint', ({ now }) => now);
const ACCOUNT = p.take('text', ({ accountId }) => accountId);
const OVERLAP = p.take('bigint', ({ overlapMs }) => overlapMs);
const GUARD = heldLease(
  p.take('text', ({ lease }) => lease.name),
  p.take('bigint', ({ lease }) => lease.fence),
);

/*
 * A gap in visibility begins at the watermark of the last listing that contained the connection: until then
 * polling has read all of its messages. A good poll that found the same listing has not stored it again. A watermark
 * in the future of our clock is ignored. For a connection that is listed for the first time, though not in the first
 * listing of its account, the gap begins at the beginning. A gap that is already open is not shortened.
 */
const MERGE = `
WITH guard AS (${GUARD}),
coverage AS (
  SELECT v.watermark, v.listed_watermark, greatest(v.listed_at, p.last_good_at) AS listed_at
    FROM connector.coverage v LEFT JOIN connector.poll_states p ON p.account_id = v.account_id
   WHERE v.account_id = ${ACCOUNT}
),
${listingCtes(p, { accountId: ACCOUNT, now: NOW })},
gaps AS (
  INSERT INTO connector.gaps AS g (account_id, kind, slot, floor, restarts, opened_at)
  SELECT ${ACCOUNT}, 'visibility', h.connection_id,
         CASE WHEN v.listed_watermark <= ${NOW} + ${OVERLAP} THEN v.listed_watermark - ${OVERLAP} END, 0, ${NOW}
    FROM hidden h LEFT JOIN coverage v ON true
  UNION ALL
  SELECT ${ACCOUNT}, 'visibility', k.connection_id, NULL, 0, ${NOW}
    FROM kept k LEFT JOIN before b ON b.connection_id = k.connection_id
   WHERE b.listed_at IS NULL AND EXISTS (SELECT FROM coverage WHERE listed_at IS NOT NULL)
   ORDER BY 3
  ON CONFLICT (account_id, kind, slot) DO UPDATE
     SET cursor = NULL, top = NULL,
         floor = CASE WHEN g.floor IS NULL OR excluded.floor IS NULL THEN NULL
                      ELSE least(g.floor, excluded.floor) END
),
noted AS (
  INSERT INTO connector.coverage AS v (account_id, listed_watermark, listed_at)
  SELECT ${ACCOUNT}, NULL, ${NOW} WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id) DO UPDATE SET listed_watermark = v.watermark, listed_at = excluded.listed_at
)
SELECT EXISTS (SELECT FROM guard) AS applied,
       (SELECT count(*) FROM kept) AS changed,
       (SELECT count(*) FROM hidden) AS hidden,
       (SELECT count(*) FROM listed l JOIN before b USING (connection_id)
         WHERE b.account_id <> ${ACCOUNT} AND b.listed_at IS NOT NULL) AS "foreign"`;

/**
 * Writes a listing to the rows of connections in one fenced statement. Rows that changed after their version
 * was read are left as they are. Connections that are no longer listed become invisible, and a gap is stored
 * for what they miss. The listing is the truth about connections if an event was dropped.
 */
export async function mergeConnections(db: Queryable, merge: ListingMerge): Promise<ListingResult> {
  const input = { ...merge, ...compareListing(merge.listed, merge.known) };
  const [result] = await db.query<ListingResult>(MERGE, p.valuesOf(input));
  return result ?? { applied: false, changed: 0, hidden: 0, foreign: 0 };
}
