import { retryOnce } from '../../runtime/database/retry-once.ts';
import { readKnownVersions } from '../db/connection-listing.ts';
import { mergeConnections } from './merge-connections.ts';
import { OVERLAP_MS, type PollContext, PollSuperseded } from './poll-context.ts';

/** Ids of the connections that the service listed. */
export type VisibleConnections = ReadonlySet<string>;

export interface Listing {
  readonly visible: VisibleConnections;
  /**
   * The latest time that a message can correctly have, epoch milliseconds: our clock, or the service's own if
   * that is behind ours. Nothing that the service reports can make it later than our clock.
   */
  readonly latest: number;
}

/** Lists the connections and updates their rows. Throws a `ServiceError` or `PollSuperseded`. */
export async function pollConnections(context: PollContext): Promise<Listing> {
  const { database, client, clock, logger, metrics, lease, accountId, signal } = context;
  const known = await readKnownVersions(database, accountId);
  const { items, invalid, date } = await client.listConnections(signal);
  context.onAnswer();
  // A `Date` header is truncated to the second.
  const latest = Math.min(clock.now(), (date ?? Number.POSITIVE_INFINITY) + 1_000);
  if (invalid.length > 0) {
    metrics.invalid.inc(invalid.length);
    logger.warn({ accountId, count: invalid.length }, 'connections could not be read and were left out');
  }
  const merge = { lease, accountId, now: clock.now(), known, listed: items, overlapMs: OVERLAP_MS };
  const result = await retryOnce(() => mergeConnections(database, merge));
  if (!result.applied) throw new PollSuperseded();
  if (result.changed + result.hidden > 0) context.onCommitted();
  if (result.hidden > 0) logger.info({ accountId, count: result.hidden }, 'connections are no longer listed');
  if (result.foreign > 0) {
    logger.warn({ accountId, count: result.foreign }, 'listed connections belong to another account');
  }
  return { visible: new Set(items.map((connection) => connection.id)), latest };
}
