import type { Queryable } from '../../runtime/database/database.ts';
import type { Moment } from './progress.ts';

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
export const IS_OPEN = `m.direction = 'outgoing' AND (m.status IS NULL OR m.status IN ('sent', 'delivered'))`;

/**
 * The open statuses of messages created from `from` on, of the visible connections; the service reports nothing
 * about the others. Uses the message index of each connection.
 */
export async function findOpenStatuses(
  db: Queryable,
  accountId: string,
  from: number,
): Promise<OpenStatuses> {
  const [row] = await db.query<{ open: number; oldest: number | null }>(
    `select coalesce(sum(o.open), 0)::bigint as open, min(o.oldest) as oldest
       from connector.connections c
      cross join lateral (
        select count(*) as open, min(m.created_at) as oldest from connector.messages m
         where m.connection_id = c.connection_id and m.created_at >= $2::bigint and ${IS_OPEN}) o
      where c.account_id = $1 and c.visible`,
    [accountId, from],
  );
  return row ?? { open: 0, oldest: null };
}

/** How far back unresolved statuses are counted, so that the count does not grow with the table. */
const COUNTED_MS = 30 * DAY;

/**
 * How many statuses of the 30 days before `before` are open: for longer than the widest horizon. Reads many rows, so
 * once a day is enough: 2.5 s if the table has 5 million messages of a year. An index of open statuses would be written
 * with each status that a delivery brings.
 */
export async function countUnresolved(db: Queryable, accountId: string, before: number): Promise<number> {
  const [row] = await db.query<{ unresolved: number }>(
    `select count(*) as unresolved from connector.connections c
       join connector.messages m on m.connection_id = c.connection_id
      where c.account_id = $1 and m.created_at < $2::bigint and m.created_at >= $3::bigint and ${IS_OPEN}`,
    [accountId, before, before - COUNTED_MS],
    { deadlineMs: 60_000 },
  );
  return row?.unresolved ?? 0;
}
