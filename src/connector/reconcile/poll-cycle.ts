import { pollConnections } from './poll-connections.ts';
import type { PollContext } from './poll-context.ts';
import { noteGood, noteStarted, type PollState } from './poll-state.ts';
import { readProgress } from './progress.ts';
import { judgeRepairs } from './repairs.ts';
import { sweepStatuses } from './sweep-statuses.ts';
import { walkAccount } from './walk-messages.ts';
import { walkVisibility } from './walk-visibility.ts';

/** How far a poll came. */
export interface PolledCycle {
  /** No gap is left open. */
  readonly closed: boolean;
  /**
   * It is catching up: more is missing than one cycle could read. An account so busy that the overlap alone
   * fills a cycle is not behind, its coverage rises with each cycle.
   */
  readonly behind: boolean;
}

/**
 * One poll of an account under its lease: connections, the messages down to what was seen, what hidden
 * connections missed, statuses that may still rise. Everything is stored page by page, so a poll that fails
 * or is killed loses nothing.
 * Throws a `ServiceError`, `PollSuperseded`, `StalledWalk`, or what the database throws.
 */
export async function runPollCycle(
  context: PollContext,
  state: PollState,
  options: { readonly fullSweep: boolean },
): Promise<PolledCycle> {
  const { database, clock, lease, accountId } = context;
  await noteStarted(database, accountId, clock.now());
  const visible = await pollConnections(context);
  const progress = await readProgress(database, accountId);
  const walk = await walkAccount(context, progress);
  const visibilityClosed = await walkVisibility(context, progress.visibility, visible);
  // The service's clock, not ours, says how old a message is. Its newest message tells when it runs ahead.
  const reference = Math.max(clock.now(), walk.reached ?? 0);
  const full = options.fullSweep || state.needsFullSweep;
  const since = Math.min(reference, state.lastGoodReference ?? reference);
  const sweep = await sweepStatuses(context, {
    open: progress.sweeps,
    swept: progress.swept,
    walk,
    reference,
    fullSince: full ? since : null,
  });
  // What this poll brings is judged by a later one.
  if (progress.repairsWait) await noteRepairs(context);
  const { unresolved } = sweep;
  await noteGood(database, lease, accountId, { now: clock.now(), reference, swept: full, unresolved });
  return {
    closed: walk.closed && visibilityClosed && sweep.closed,
    behind: !walk.advanced || !visibilityClosed,
  };
}

async function noteRepairs(context: PollContext): Promise<void> {
  const { database, lease, accountId, clock, metrics, logger } = context;
  const { messages, statuses } = await judgeRepairs(database, lease, accountId, clock.now());
  if (messages + statuses === 0) return;
  metrics.repaired.inc({ what: 'message' }, messages);
  metrics.repaired.inc({ what: 'status' }, statuses);
  logger.warn({ accountId, repaired: messages + statuses }, 'polling brought what no webhook had brought');
}
