import { noteGood, noteStarted, type PollState } from '../accounts/poll-state.ts';
import { pollConnections } from './poll-connections.ts';
import type { PollContext } from './poll-context.ts';
import { boundProgress, END, endChange, type Progress, readProgress } from './progress.ts';
import { judgeRepairs } from './repairs.ts';
import { sweepStatuses } from './sweep-statuses.ts';
import { type CoverageWalk, readEnd, storeProgress, walkAccount } from './walk-messages.ts';
import { walkVisibility } from './walk-visibility.ts';

/** How far a poll came. */
export interface PolledCycle {
  /** All gaps are closed. */
  readonly closed: boolean;
  /**
   * More is missing than one cycle could read. False for an account so busy that the overlap alone fills a
   * cycle: its coverage advances with each cycle.
   */
  readonly behind: boolean;
}

/**
 * One poll of an account under its lease: connections, messages down to the watermark, what hidden connections
 * missed, and statuses that may still advance. Everything is stored page by page, so a poll that fails or is
 * killed loses nothing. Throws a `ServiceError`, `PollSuperseded`, `StalledWalk`, or what the database throws.
 * [service.cloud-api.polled] [delivery.reconcile]
 */
export async function runPollCycle(
  context: PollContext,
  state: PollState,
  options: { readonly fullSweep: boolean },
): Promise<PolledCycle> {
  const { database, clock, lease, accountId } = context;
  await noteStarted(database, accountId, clock.now());
  const { visible, latest } = await pollConnections(context);
  const stored = await readProgress(database, accountId);
  const sinceGoodMs = state.lastGoodAt === null ? 0 : Math.max(0, clock.now() - state.lastGoodAt);
  const progress = boundProgress(stored, { now: clock.now(), createdSince: latest - sinceGoodMs });
  const walk = await walkAccount(context, progress.coverage, latest);
  await readPastEnd(context, progress, walk, latest);
  const visibility = await walkVisibility(context, progress.visibility, visible);
  // The age of a message is measured by the service's clock, which may be behind ours. If it is ahead, our
  // clock is used.
  const reference = latest;
  const full = options.fullSweep || state.needsFullSweep;
  const since = Math.min(reference, state.lastGoodReference ?? reference);
  const sweep = await sweepStatuses(context, {
    open: progress.sweeps,
    swept: progress.swept,
    walk,
    reference,
    fullSince: full ? since : null,
  });
  // What this poll finds is judged by a later one.
  if (progress.repairsWait) await noteRepairs(context);
  const { unresolved } = sweep;
  await noteGood(database, lease, accountId, { now: clock.now(), reference, swept: full, unresolved });
  return {
    closed: walk.closed && visibility.closed && sweep.closed,
    behind: !walk.advanced || visibility.behind,
  };
}

/** That is every other poll. */
const END_EVERY_MS = 60_000;

async function readPastEnd(
  context: PollContext,
  { end, swept }: Progress,
  walk: CoverageWalk,
  reference: number,
): Promise<void> {
  const since = context.clock.now() - (swept.get(END)?.at ?? 0);
  const isDue = since >= END_EVERY_MS || since < 0;
  if (walk.end !== null) {
    const change = { ...endChange(walk.end), swept: [{ horizon: END, reference }] };
    if (walk.end !== end || isDue) await storeProgress(context, change);
  } else if (end !== null && isDue) await readEnd(context, end, reference);
}

async function noteRepairs(context: PollContext): Promise<void> {
  const { database, lease, accountId, clock, metrics, logger } = context;
  const { messages, statuses } = await judgeRepairs(database, lease, accountId, clock.now());
  if (messages + statuses === 0) return;
  metrics.repaired.inc({ what: 'message' }, messages);
  metrics.repaired.inc({ what: 'status' }, statuses);
  logger.warn({ accountId, repaired: messages + statuses }, 'polling repaired what no webhook had delivered');
}
