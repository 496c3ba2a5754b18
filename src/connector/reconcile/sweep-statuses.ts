import type { Queryable } from '../../runtime/database/database.ts';
import type { PollContext } from './poll-context.ts';
import { gapChange, type Moment, type Progress, type SlottedGap } from './progress.ts';
import { type CoverageWalk, storeProgress, walkOneGap } from './walk-messages.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Late statuses are not on the first page, so messages with an open status are read again. A horizon is a
 * maximum age of the message and how often messages up to that age are read.
 */
export interface Horizon {
  readonly name: string;
  readonly ageMs: number;
  readonly everyMs: number;
}

/** From the narrowest to the widest. A status that is open for longer than the widest counts as unresolved. */
export const HORIZONS: readonly Horizon[] = [
  { name: '5m', ageMs: 5 * MINUTE, everyMs: 0 },
  { name: '1h', ageMs: HOUR, everyMs: 10 * MINUTE },
  { name: '24h', ageMs: DAY, everyMs: HOUR },
  { name: '7d', ageMs: 7 * DAY, everyMs: DAY },
];

export const WIDEST_MS = 7 * DAY;

/**
 * The widest horizon that is due: its interval has passed on either clock. The narrowest is always due. A last
 * time in the future means that a clock was set back, and counts as long ago.
 */
export function dueHorizon(lastSwept: ReadonlyMap<string, Moment>, now: Moment): Horizon | undefined {
  return HORIZONS.findLast(({ name, everyMs }) => {
    const last = lastSwept.get(name);
    if (last === undefined || last.at > now.at) return true;
    return now.at - last.at >= everyMs || now.reference - last.reference >= everyMs;
  });
}

/** This horizon and all narrower ones, because a sweep of it includes them. */
export function horizonsWithin(name: string): string[] {
  const index = HORIZONS.findIndex((horizon) => horizon.name === name);
  return HORIZONS.slice(0, index < 0 ? HORIZONS.length : index + 1).map((horizon) => horizon.name);
}

export interface OpenStatuses {
  readonly open: number;
  /** When the oldest of them was created; null if none is open. */
  readonly oldest: number | null;
}

/** True if the status of the message `m` may still advance. */
export const IS_OPEN = `m.direction = 'outgoing' AND NOT m.erased AND (m.status IS NULL OR m.status IN ('sent', 'delivered'))`;

/** Connections whose messages one statement reads: a week of an account may be millions. */
const CONNECTIONS = 100;

/**
 * The open statuses of messages created from `from` on and before `until`, of the visible connections; the service
 * reports nothing about the others. Uses the message index of each connection.
 */
export async function findOpenStatuses(
  db: Queryable,
  accountId: string,
  from: number,
  until = Number.MAX_SAFE_INTEGER,
): Promise<OpenStatuses> {
  let found: OpenStatuses = { open: 0, oldest: null };
  for (let after: string | null = ''; after !== null; ) {
    const rows: readonly (OpenStatuses & { readonly last: string | null })[] = await db.query(
      `select coalesce(sum(o.open), 0)::bigint as open, least(min(o.oldest), $5::bigint) as oldest,
              case when count(*) = ${CONNECTIONS} then max(c.connection_id) end as last
         from (select connection_id from connector.connections
                where account_id = $1 and visible and connection_id > $4 order by connection_id limit ${CONNECTIONS}) c
        cross join lateral (
          select count(*) as open, min(m.created_at) as oldest from connector.messages m
           where m.connection_id = c.connection_id and m.created_at >= $2::bigint and m.created_at < $3::bigint
             and ${IS_OPEN}) o`,
      [accountId, from, until, after, found.oldest],
      { deadlineMs: 60_000 },
    );
    const { open, oldest, last } = rows[0] ?? { ...found, open: 0, last: null };
    found = { open: found.open + open, oldest };
    after = last;
  }
  return found;
}

/**
 * How far back the statuses are counted that stay open for longer than the widest horizon, so that the count does not
 * grow with the table. It reads many rows, so once a day is enough: 2.5 s if the table has 5 million messages of a
 * year. An index of open statuses would be written with each status that a delivery brings.
 */
const COUNTED_MS = 30 * DAY;

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
    const until = reference - WIDEST_MS;
    return (await findOpenStatuses(context.database, context.accountId, until - COUNTED_MS, until)).open;
  } catch (error) {
    context.logger.warn(
      { err: error, accountId: context.accountId },
      'old open statuses could not be counted',
    );
    return null;
  }
}
