import type { PollState } from '../accounts/poll-state.ts';
import type { KnownVersions } from '../db/connection-listing.ts';
import { dueHorizon, HORIZONS } from './open-statuses.ts';
import { boundProgress, type Progress } from './progress.ts';

/** What a poll that changed nothing had before it: the answers of the service, and the rows of the account. */
export interface SettledPoll {
  /** Digests of the bodies. */
  readonly connections: string;
  readonly messages: string;
  readonly versions: string;
  readonly watermark: number;
  /** As this poll stored it. */
  readonly lastGoodAt: number;
}

/**
 * The polls of this process that changed nothing, by account. A poll with the same answers has nothing to store, so
 * it neither validates nor merges them, under these conditions:
 *
 * - The rows of connections have the versions that they had then. Every writer raises the version, so their merge,
 *   which changed nothing, would change nothing again. Statuses and fields of messages only move forward, so a
 *   webhook or a send that changed a message cannot be undone by merging the older answer again.
 * - `lastGoodAt` is the value that this process stored: no other process has polled since, and the database was
 *   neither restored nor failed over to a state before it.
 * - Nothing else is due: no gap, sweep, judgement of repairs, failure or full sweep. The sweep of the last hour is
 *   due every ten minutes, so at least then everything is merged again.
 */
export type SettledPolls = Map<string, SettledPoll>;

/** The versions of the rows that a listing may change, as one value to compare. */
export function versionsOf(known: KnownVersions): string {
  return [...known]
    .map(([id, version]) => `${id} ${version}`)
    .sort()
    .join('\n');
}

/** True if nothing but the newest answers can give a poll something to do. Times are epoch milliseconds. */
export function isNothingDue(
  state: PollState,
  progress: Progress,
  { now, latest }: { readonly now: number; readonly latest: number },
): boolean {
  if (state.failures > 0 || state.needsFullSweep || state.lastGoodAt === null || progress.repairsWait)
    return false;
  const gaps = progress.coverage.gaps.length + progress.visibility.length + progress.sweeps.length;
  if (gaps > 0 || dueHorizon(progress.swept, { at: now, reference: latest }) !== HORIZONS[0]) return false;
  const { watermark } = progress.coverage;
  const createdSince = latest - Math.max(0, now - state.lastGoodAt);
  const bounded = boundProgress(progress, { now, createdSince }).coverage.watermark;
  return watermark !== null && watermark === bounded && watermark <= latest;
}
