import { and, eq } from 'drizzle-orm';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import {
  compareListing,
  type KnownVersions,
  type ListingRows,
  listingCtes,
  readKnownVersions,
} from '../db/connection-listing.ts';
import { Parameters } from '../db/input-columns.ts';
import { heldLease, isHeld } from '../db/lease.ts';
import { gaps } from '../db/sync-tables.ts';
import type { PolledConnections } from '../service-client/service-client.ts';
import { noteUnread, OVERLAP_MS, type PollContext, PollSuperseded } from './poll-context.ts';
import type { ProgressChange, SlottedGap } from './progress.ts';
import { walkOneGap } from './walk-messages.ts';

const DAY_MS = 86_400_000;

/** What the statement is given. Times in epoch ms: `now` is our clock, `latest` the service time of the listing. */
interface ListingMerge extends ListingRows {
  readonly context: PollContext;
  readonly now: number;
  readonly latest: number;
}

interface ListingResult {
  /** False if another process polls this account now, and nothing was written. */
  readonly applied: boolean;
  readonly changed: number;
  readonly hidden: number;
  /** Listed connections that belong to another account. */
  readonly foreign: number;
}

const p = new Parameters<ListingMerge>();
const NOW = p.take('bigint', ({ now }) => now);
const ACCOUNT = p.take('text', ({ context }) => context.accountId);
const HISTORY = {
  historyUntil: p.take('bigint', ({ latest }) => latest),
  historyFrom: p.take('bigint', ({ latest, context: { historyDays } }) =>
    historyDays === null ? null : latest - historyDays * DAY_MS,
  ),
};
const GUARD = heldLease(
  p.take('text', ({ context }) => context.lease.name),
  p.take('bigint', ({ context }) => context.lease.fence),
);

/*
 * Writes a listing to the rows of connections in one fenced statement. Rows that changed after their version
 * was read are left as they are. Connections that are no longer listed become invisible, and a gap is stored
 * for what they miss. The listing is the truth about connections if an event was dropped.
 *
 * A gap in visibility begins at the watermark of the last listing that contained the connection: until then
 * polling has read all of its messages. A good poll that found the same listing has not stored it again. A watermark
 * in the future of our clock is ignored. For a connection that the account lists for the first time, though not in its
 * first listing, the gap begins where the history of the connection does. A gap that is already open is not shortened.
 */
const MERGE = `
WITH guard AS (${GUARD}),
coverage AS (
  SELECT v.watermark, v.listed_watermark, greatest(v.listed_at, p.last_good_at) AS listed_at
    FROM connector.coverage v LEFT JOIN connector.poll_states p ON p.account_id = v.account_id
   WHERE v.account_id = ${ACCOUNT}
),
${listingCtes(p, { accountId: ACCOUNT, now: NOW, ...HISTORY })},
gaps AS (
  INSERT INTO connector.gaps AS g (account_id, kind, slot, floor, restarts, opened_at)
  SELECT ${ACCOUNT}, 'visibility', h.connection_id,
         CASE WHEN v.listed_watermark <= ${NOW} + ${OVERLAP_MS} THEN v.listed_watermark - ${OVERLAP_MS} END, 0, ${NOW}
    FROM hidden h LEFT JOIN coverage v ON true
  UNION ALL
  SELECT ${ACCOUNT}, 'visibility', k.connection_id, k.history_from, 0, ${NOW}
    FROM kept k LEFT JOIN before b ON b.connection_id = k.connection_id
   WHERE (b.listed_at IS NULL OR b.account_id <> ${ACCOUNT})
     AND EXISTS (SELECT FROM coverage WHERE listed_at IS NOT NULL)
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
         WHERE b.account_id <> ${ACCOUNT} AND b.listed_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM kept k WHERE k.connection_id = l.connection_id)) AS "foreign"`;

/** Ids of the connections that the service listed. */
export type VisibleConnections = ReadonlySet<string>;

export interface Listing {
  readonly visible: VisibleConnections;
  /**
   * The latest time that a message can correctly have, epoch milliseconds: our clock, or the service's own if
   * that is behind ours. Nothing that the service reports can make it later than our clock.
   */
  readonly latest: number;
  /** Every element was read, and the rows were as listed already. */
  readonly settled: boolean;
}

/** Lists the connections and updates their rows. Throws a `ServiceError` or `PollSuperseded`. */
export async function pollConnections(context: PollContext): Promise<Listing> {
  const known = await readKnownVersions(context.database, context.accountId);
  return await mergeListing(context, known, await context.client.listConnections(context.signal));
}

/** Our clock, or that of the response if it is behind ours. A `Date` header is truncated to the second. */
export function latestOf({ clock }: PollContext, { date }: { readonly date: number | null }): number {
  return Math.min(clock.now(), (date ?? Number.POSITIVE_INFINITY) + 1_000);
}

/** Updates the rows of what was listed; `known` was read before the request. Throws `PollSuperseded`. */
export async function mergeListing(
  context: PollContext,
  known: KnownVersions,
  { items, invalid, unread, date }: PolledConnections,
): Promise<Listing> {
  const { database, clock, logger, metrics, accountId } = context;
  const latest = latestOf(context, { date });
  if (invalid.length > 0) {
    metrics.invalid.inc({ what: 'record' }, invalid.length);
    logger.warn(
      { accountId, count: invalid.length, invalid },
      'connections could not be read and were left out',
    );
  }
  noteUnread(context, unread, 'connection');
  const params = p.valuesOf({ context, now: clock.now(), latest, ...compareListing(items, known) });
  const [result] = await retryOnce(() => database.query<ListingResult>(MERGE, params));
  if (result?.applied !== true) throw new PollSuperseded();
  if (result.changed + result.hidden > 0) context.onCommitted();
  if (result.hidden > 0) logger.info({ accountId, count: result.hidden }, 'connections are no longer listed');
  if (result.foreign > 0) {
    logger.warn({ accountId, count: result.foreign }, 'listed connections belong to another account');
  }
  const settled = result.changed + result.hidden + result.foreign + invalid.length === 0;
  return { visible: new Set(items.map((connection) => connection.id)), latest, settled };
}

const NOTHING: ProgressChange = { kind: 'visibility', saved: [], closed: [], swept: [] };

export interface VisibilityWalk {
  /** The gaps of all visible connections are closed. */
  readonly closed: boolean;
  /** The pages of one cycle were not enough. */
  readonly behind: boolean;
}

/**
 * Reads what connections missed while they were hidden, each by its id. A connection that is hidden again
 * during its walk returns an empty last page, which looks like the end of the list. So a gap is only closed if
 * the connection is still listed after its walk; otherwise the next period reads it again.
 */
export async function walkVisibility(
  context: PollContext,
  slotted: readonly SlottedGap[],
  visible: VisibleConnections,
): Promise<VisibilityWalk> {
  const open = slotted.filter(({ slot }) => visible.has(slot));
  const walked: string[] = [];
  let pages = 0;
  let behind = false;
  for (const { slot, gap } of open) {
    if (pages >= context.budget.visibility) {
      behind = true;
      break;
    }
    const result = await walkOneGap(context, {
      gap,
      connectionId: slot,
      kind: 'visibility',
      maxPages: context.budget.visibility - pages,
      change: (next) => (next === null ? NOTHING : { ...NOTHING, saved: [{ slot, gap: next }] }),
    });
    pages += result.pages;
    if (result.closed) walked.push(slot);
    else behind = true;
  }
  if (walked.length === 0) return { closed: open.length === 0, behind };
  const { visible: visibleStill } = await pollConnections(context);
  const closed = walked.filter((id) => visibleStill.has(id));
  await closeGaps(context, closed);
  return { closed: closed.length === open.length, behind };
}

async function closeGaps(
  { database, lease, accountId }: PollContext,
  slots: readonly string[],
): Promise<void> {
  const { accountId: account, kind, slot } = gaps;
  await orm(database)
    .delete(gaps)
    .where(and(eq(account, accountId), eq(kind, 'visibility'), isAnyOf(slot, slots), isHeld(lease)));
}
