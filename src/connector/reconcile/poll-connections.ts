import { retryOnce } from '../../runtime/database/retry-once.ts';
import { type KnownVersions, readKnownVersions } from '../db/connection-listing.ts';
import type { PolledConnections } from '../service-client/polled.ts';
import { mergeConnections } from './merge-connections.ts';
import { noteUnread, OVERLAP_MS, type PollContext, PollSuperseded } from './poll-context.ts';

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
  const { database, clock, logger, metrics, lease, accountId } = context;
  const latest = latestOf(context, { date });
  if (invalid.length > 0) {
    metrics.invalid.inc({ what: 'record' }, invalid.length);
    logger.warn(
      { accountId, count: invalid.length, invalid },
      'connections could not be read and were left out',
    );
  }
  noteUnread(context, unread, 'connection');
  const merge = { lease, accountId, now: clock.now(), known, listed: items, overlapMs: OVERLAP_MS };
  const result = await retryOnce(() => mergeConnections(database, merge));
  if (!result.applied) throw new PollSuperseded();
  if (result.changed + result.hidden > 0) context.onCommitted();
  if (result.hidden > 0) logger.info({ accountId, count: result.hidden }, 'connections are no longer listed');
  if (result.foreign > 0) {
    logger.warn({ accountId, count: result.foreign }, 'listed connections belong to another account');
  }
  const settled = result.changed + result.hidden + result.foreign + invalid.length === 0;
  return { visible: new Set(items.map((connection) => connection.id)), latest, settled };
}
