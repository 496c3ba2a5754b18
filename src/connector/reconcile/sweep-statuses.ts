import {
  countUnresolved,
  dueHorizon,
  findOpenStatuses,
  HORIZONS,
  type Horizon,
  horizonsWithin,
  WIDEST_MS,
} from './open-statuses.ts';
import type { PollContext } from './poll-context.ts';
import { gapChange, type Progress, type SlottedGap } from './progress.ts';
import { type CoverageWalk, storeProgress, walkOneGap } from './walk-messages.ts';

/** The slot of a sweep over all horizons, after a start or a failure. */
const FULL = 'full';

export interface SweepRequest {
  /** Sweeps that an earlier cycle did not finish. */
  readonly open: readonly SlottedGap[];
  readonly swept: Progress['swept'];
  readonly walk: CoverageWalk;
  /** The current service time, as far as it is known. */
  readonly reference: number;
  /** Sweep everything that was open at this service time or since; null to sweep what is due. */
  readonly fullSince: number | null;
}

export interface SweepResult {
  readonly closed: boolean;
  /** Statuses of the widest horizon that stay open permanently; null if they were not counted this time. */
  readonly unresolved: number | null;
}

/**
 * Reads messages again whose status may still advance. This is the only source of statuses for `cloud_api`
 * connections, and the fallback for all others. Ages are measured in service time, which may differ from ours.
 */
export async function sweepStatuses(context: PollContext, request: SweepRequest): Promise<SweepResult> {
  const due = await planSweep(context, request);
  const open = request.open.filter(({ slot }) => slot !== due?.slot);
  // The new sweep first: its first page stores it, so that it is not forgotten if the budget is used up.
  const sweeps = due === null || due.gap === null ? open : [{ slot: due.slot, gap: due.gap }, ...open];
  let pages = 0;
  let closed = true;
  for (const { slot, gap } of sweeps) {
    const maxPages = context.budget.sweep - pages;
    const done = maxPages > 0 ? await walkSweep(context, slot, gap, maxPages) : { closed: false, pages: 0 };
    pages += done.pages;
    closed &&= done.closed;
  }
  return {
    closed,
    unresolved: due?.countsUnresolved === true ? await countOld(context, request.reference) : null,
  };
}

interface PlannedSweep extends Omit<SlottedGap, 'gap'> {
  /** Null: no status is open, or the coverage walk has just read all of them. */
  readonly gap: SlottedGap['gap'] | null;
  readonly countsUnresolved: boolean;
}

async function planSweep(context: PollContext, request: SweepRequest): Promise<PlannedSweep | null> {
  const { database, accountId } = context;
  const { reference, fullSince } = request;
  const now = { at: context.clock.now(), reference };
  const horizon = dueHorizon(request.swept, now);
  const chosen = fullSince === null ? horizon : HORIZONS.at(-1);
  if (chosen === undefined) return null;
  const slot = fullSince === null ? chosen.name : FULL;
  // A sweep of this horizon is in progress: it continues where it is, unless everything was requested again.
  if (fullSince === null && request.open.some((gap) => gap.slot === slot)) return null;
  const found = await findOpenStatuses(database, accountId, (fullSince ?? reference) - chosen.ageMs);
  noteOpen(context, chosen, found.open);
  const countsUnresolved = chosen.ageMs === WIDEST_MS;
  if (found.oldest === null || wasJustRead(request.walk, found.oldest)) {
    // The narrowest horizon is due with every poll.
    if (chosen.everyMs > 0) await noteSwept(context, slot, reference);
    return { slot, gap: null, countsUnresolved };
  }
  // A message dated in the future is on the first page until that time.
  const floor = Math.min(found.oldest, reference);
  const gap = { top: null, floor, cursor: null, nextTop: reference, restarts: 0 };
  return { slot, gap, countsUnresolved };
}

function wasJustRead({ readDownTo }: CoverageWalk, oldest: number): boolean {
  return readDownTo !== undefined && (readDownTo === null || oldest >= readDownTo);
}

async function walkSweep(context: PollContext, slot: string, gap: SlottedGap['gap'], maxPages: number) {
  const swept = horizonsWithin(slot).map((horizon) => ({ horizon, reference: gap.nextTop ?? 0 }));
  return await walkOneGap(context, {
    gap,
    kind: 'sweep',
    maxPages,
    change: (next) => ({ ...gapChange('sweep', slot, next), swept: next === null ? swept : [] }),
  });
}

/** This sweep has nothing to read; the next interval starts here. */
async function noteSwept(context: PollContext, slot: string, reference: number): Promise<void> {
  const swept = horizonsWithin(slot).map((horizon) => ({ horizon, reference }));
  await storeProgress(context, { ...gapChange('sweep', slot, null), swept });
}

function noteOpen({ metrics, accountId }: PollContext, horizon: Horizon, open: number): void {
  if (horizon.ageMs === WIDEST_MS) metrics.openStatuses.set({ account: accountId }, open);
}

async function countOld(context: PollContext, reference: number): Promise<number | null> {
  try {
    return await countUnresolved(context.database, context.accountId, reference - WIDEST_MS);
  } catch (error) {
    context.logger.warn(
      { err: error, accountId: context.accountId },
      'old open statuses could not be counted',
    );
    return null;
  }
}
