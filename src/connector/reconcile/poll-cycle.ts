import { eq } from 'drizzle-orm';
import type { Coverage } from '../../patterns/reconcile-walk.ts';
import { orm } from '../../runtime/database/orm.ts';
import { noteGood, noteStarted, type PlannedPoll, type PollState } from '../accounts/poll-state.ts';
import { messages } from '../db/schema.ts';
import { latestOf, mergeListing, walkVisibility } from './poll-connections.ts';
import { PAGE_SIZE, type PollContext } from './poll-context.ts';
import { boundProgress, outdatedDays, type Progress, readBeforePoll, readProgress } from './progress.ts';
import { isNothingDue, type SettledPolls, seenBy } from './quiet-polls.ts';
import { judgeRepairs } from './store-page.ts';
import { sweepStatuses } from './sweep-statuses.ts';
import { type CoverageWalk, storeProgress, walkAccount } from './walk-messages.ts';

/** How far a poll came. */
export interface PolledCycle {
  /** All gaps are closed. */
  readonly closed: boolean;
  /**
   * More is missing than one cycle could read. False for an account so busy that the overlap alone fills a
   * cycle: its coverage advances with each cycle.
   */
  readonly behind: boolean;
  /** When the account is due again, epoch ms; undefined if the lease was lost. */
  readonly dueAt?: number | null | undefined;
}

export interface CycleOptions {
  readonly fullSweep: boolean;
  readonly settled: SettledPolls;
  /** The next due time, by whether the poll is behind; undefined if it does not change. */
  readonly next: (behind: boolean) => PlannedPoll | undefined;
}

/**
 * One poll of an account under its lease: connections, messages down to the watermark, what hidden connections
 * missed, and statuses that may still advance. Everything is stored page by page, so a poll that fails or is
 * killed loses nothing. Throws a `ServiceError`, `PollSuperseded`, `StalledWalk`, or what the database throws.
 * [service.cloud-api.polled] [delivery.reconcile]
 */
export async function runPollCycle(
  base: PollContext,
  state: PollState,
  { fullSweep, settled, next }: CycleOptions,
): Promise<PolledCycle> {
  let wrote = false;
  const onCommitted = (): void => {
    wrote = true;
    base.onCommitted();
  };
  const context = { ...base, onCommitted };
  const { database, clock, lease, accountId, client, signal } = context;
  const startedAt = clock.now();
  const { progress: before, known } = await readBeforePoll(database, accountId);
  const connections = await client.requestConnections(signal);
  context.onAnswer();
  // What fails here fails when the walk reads it: the connections are stored before.
  const newest = await client.requestMessages({ limit: PAGE_SIZE }, signal).then(
    (page) => ({ digest: page.digest, read: () => Promise.resolve().then(page.read) }),
    (error: unknown) => ({ digest: null, read: () => Promise.reject(error) }),
  );
  const answers = newest.digest === null ? null : [connections.digest, newest.digest];
  const seen = answers && seenBy(answers, known, before);
  const last = settled.get(accountId);
  settled.delete(accountId);
  const time = { now: clock.now(), latest: latestOf(context, connections) };
  const isSeen = last !== undefined && last.seen === seen && last.lastGoodAt === state.lastGoodAt;
  if (isSeen && !fullSweep && isNothingDue(state, before, time)) {
    context.metrics.pages.inc({ kind: 'coverage' });
    const { latest: reference } = time;
    const good = { now: time.now, startedAt, reference, swept: false, unresolved: null };
    const dueAt = await noteGood(database, lease, accountId, { ...good, next: next(false) });
    if (!wrote) settled.set(accountId, { ...last, lastGoodAt: time.now });
    return { closed: true, behind: false, dueAt };
  }
  await noteStarted(database, accountId, startedAt);
  const { visible, latest, settled: unchanged } = await mergeListing(context, known, connections.read());
  // The listing may have opened gaps.
  const stored = await readProgress(database, accountId);
  const sinceGoodMs = state.lastGoodAt === null ? 0 : Math.max(0, clock.now() - state.lastGoodAt);
  const progress = boundProgress(stored, { now: clock.now(), createdSince: latest - sinceGoodMs });
  const isImport = stored.coverage.watermark === null && state.lastGoodAt === null;
  if (isImport) noteBeginning(context);
  // A gap that is open would end above these days.
  const outdated = progress.coverage.gaps.length > 0 ? null : outdatedDays(progress);
  const from = lower(fromHistory(progress), outdated?.floor);
  const walking = { ...context, historyFrom: progress.historyFrom };
  const walk = await walkAccount(walking, from, latest, newest.read);
  if (isImport) await noteImport(context, walk);
  // What the walk has not read is stored as a gap.
  if (outdated !== null)
    await storeProgress(context, { kind: 'unread', saved: [], closed: outdated.slots, swept: [] });
  const visibility = await walkVisibility(walking, progress.visibility, visible);
  // The age of a message is measured by the service's clock, which may be behind ours. If it is ahead, our
  // clock is used.
  const reference = latest;
  const full = fullSweep || state.needsFullSweep;
  const since = Math.min(reference, state.lastGoodReference ?? reference);
  const sweep = await sweepStatuses(walking, {
    open: progress.sweeps,
    swept: progress.swept,
    walk,
    reference,
    fullSince: full ? since : null,
  });
  // What this poll finds is judged by a later one.
  if (progress.repairsWait) await noteRepairs(context);
  const { unresolved } = sweep;
  const behind = !walk.advanced || visibility.behind;
  const now = clock.now();
  const good = { now, startedAt, reference, swept: full, unresolved, next: next(behind) };
  const dueAt = await noteGood(database, lease, accountId, good);
  const isIdle = unchanged && visibility.closed && walk.idle && !wrote;
  if (isIdle && seen !== null) settled.set(accountId, { seen, lastGoodAt: now });
  return { closed: walk.closed && visibility.closed && sweep.closed, behind, dueAt };
}

function noteBeginning({ logger, accountId, historyDays }: PollContext): void {
  logger.info(
    { accountId, days: historyDays },
    'the first poll of an account: it stores old messages and marks them as historic',
  );
}

async function noteImport(
  { database, logger, accountId }: PollContext,
  { closed }: CoverageWalk,
): Promise<void> {
  const count = await orm(database).$count(messages, eq(messages.accountId, accountId));
  logger.info(
    { accountId, count },
    closed
      ? 'old messages were imported'
      : 'some old messages were imported; the next polls import the others',
  );
}

/** Coverage whose first walk ends where the history of every connection begins. */
function fromHistory({ coverage, historyFrom }: Progress): Coverage {
  if (coverage.watermark !== null || coverage.gaps.length > 0 || historyFrom.size === 0) return coverage;
  return { ...coverage, watermark: Math.min(...historyFrom.values()) };
}

/** Coverage that must read again from a time on. */
function lower(coverage: Coverage, floor: number | undefined): Coverage {
  const { watermark } = coverage;
  if (floor === undefined || watermark === null) return coverage;
  return { ...coverage, watermark: Math.min(watermark, floor) };
}

async function noteRepairs(context: PollContext): Promise<void> {
  const { database, lease, accountId, clock, metrics, logger } = context;
  const { messages, statuses } = await judgeRepairs(database, lease, accountId, clock.now());
  if (messages + statuses === 0) return;
  metrics.repaired.inc({ what: 'message' }, messages);
  metrics.repaired.inc({ what: 'status' }, statuses);
  logger.warn({ accountId, repaired: messages + statuses }, 'polling repaired what no webhook had delivered');
}
