import { type Database, type Queryable, sqlState } from '../../runtime/database/database.ts';

const DAY_MS = 86_400_000;
/** SQL: creating and dropping partitions is done by one process at a time. */
export const ONE_AT_A_TIME = 'SELECT pg_advisory_xact_lock(7204116)';
/** A period may have rows in the default partition that must be moved first. */
const MOVE_DEADLINE_MS = 60_000;
/**
 * Creating or dropping a partition needs a lock that excludes readers, and deliveries wait behind a pending
 * lock request. So the request is given up after a time that senders hardly notice; slow readers, such as a
 * backup, take precedence.
 */
export const LOCK_WAIT = `SET LOCAL lock_timeout = '200ms'`;
const LOCK_NOT_AVAILABLE = '55P03';

/** The tables that are partitioned by time, and their columns of the time, epoch ms. */
const TIME_OF = { inbox: 'received_at', changes: 'at' } as const;

type PartitionedTable = keyof typeof TIME_OF;

/** A time from `from` up to, but not including, `to`: UTC days, epoch ms. */
interface Period {
  readonly from: number;
  readonly to: number;
}

/** A partition of whole days, `changes_20261129` for example. */
export interface TimePartition extends Period {
  readonly name: string;
}

/**
 * About so many partitions are within the retention. Each delivery looks in all periods of messages, and a reader opens
 * all partitions of changes.
 */
const PERIODS = 5;
const PARTITIONS_OF_CHANGES = 15;
const MOST_DAYS = 30;

/** The days of a period of messages that are kept for `kept` days. Each new message is looked for in all of them. */
export function daysOfPeriod(kept: number): number {
  return Math.ceil(kept / PERIODS);
}

/** The days of a partition of the feed if changes are kept for `kept` days; `Infinity`: for ever. */
export function daysOfChanges(kept: number): number {
  return Math.min(MOST_DAYS, Math.ceil(kept / PARTITIONS_OF_CHANGES));
}

/** The partitions of a table in order, without the default one. */
export async function listPartitions(db: Queryable, table: PartitionedTable): Promise<TimePartition[]> {
  return await db.query<TimePartition>(
    String.raw`SELECT name, bounds[1]::bigint AS from, bounds[2]::bigint AS to
      FROM (SELECT c.relname AS name,
                   regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''(\d+)''\) TO \(''(\d+)''\)$') AS bounds
              FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'connector.${table}'::regclass) p
     WHERE bounds IS NOT NULL ORDER BY 2`,
  );
}

/**
 * Creates the missing partitions of a table, each of `days` days, for the time from `now` to `ahead` days later. Resolves
 * with their number. Several processes may do this at the same time. Rows of this time in the default partition are
 * moved. Throws as `query` does, also if a slow reader of the default partition is in the way; partitions created before
 * the failure remain.
 */
export async function makePartitions(
  database: Database,
  table: PartitionedTable,
  now: number,
  { days, ahead }: { readonly days: number; readonly ahead: number },
): Promise<number> {
  const present = await listPartitions(database, table);
  const length = days * DAY_MS;
  let made = 0;
  for (let from = Math.floor(now / length) * length; from <= now + ahead * DAY_MS; from += length) {
    for (const gap of gapsOf(present, { from, to: from + length })) {
      const isNew = await database.transaction((tx) => makePartition(tx, table, gap), {
        deadlineMs: MOVE_DEADLINE_MS,
      });
      if (isNew) made += 1;
    }
  }
  return made;
}

/** What no partition contains of a period: partitions that were created for another retention have other lengths. */
function gapsOf(partitions: readonly TimePartition[], period: Period): Period[] {
  const taken = partitions.filter((partition) => overlap(partition, period));
  const starts = [period.from, ...taken.map(({ to }) => to)];
  const ends = [...taken.map(({ from }) => from), period.to];
  return starts.flatMap((from, index) => {
    const to = ends[index] ?? period.to;
    return from < to ? [{ from, to }] : [];
  });
}

const overlap = (a: Period, b: Period): boolean => a.from < b.to && b.from < a.to;

async function makePartition(tx: Queryable, table: PartitionedTable, period: Period): Promise<boolean> {
  const { from, to } = period;
  const name = `${table}_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
  await tx.query(ONE_AT_A_TIME);
  if ((await listPartitions(tx, table)).some((partition) => overlap(partition, period))) return false;
  await tx.query(LOCK_WAIT);
  await tx.query(`CREATE TABLE connector.${name} (LIKE connector.${table} INCLUDING DEFAULTS)`);
  // From here on, nothing can be written to the default partition, so it no longer has a row of this time.
  await tx.query(`LOCK TABLE connector.${table}_default IN ACCESS EXCLUSIVE MODE`);
  await tx.query(
    `WITH moved AS (
       DELETE FROM connector.${table}_default
        WHERE ${TIME_OF[table]} >= $1::bigint AND ${TIME_OF[table]} < $2::bigint RETURNING *
     )
     INSERT INTO connector.${name} SELECT * FROM moved`,
    [from, to],
  );
  await tx.query(
    `ALTER TABLE connector.${table} ATTACH PARTITION connector.${name} FOR VALUES FROM (${from}) TO (${to})`,
  );
  return true;
}

/** Result for old days: those that are being read are dropped next time. */
export interface DroppedDays {
  readonly dropped: number;
  readonly busy: number;
}

/**
 * Drops the days of the inbox that ended before `before` (epoch ms), and older rows of the default partition. A
 * day with slow readers is kept for now, so that deliveries never wait behind them. Throws as `query` does.
 */
export async function dropInboxPartitions(database: Database, before: number): Promise<DroppedDays> {
  const old = (await listPartitions(database, 'inbox')).filter(({ to }) => to <= before);
  let dropped = 0;
  for (const { name } of old) if (await dropPartition(database, name)) dropped += 1;
  await database.query('DELETE FROM connector.inbox_default WHERE received_at < $1::bigint', [before], {
    deadlineMs: MOVE_DEADLINE_MS,
  });
  return { dropped, busy: old.length - dropped };
}

/**
 * Drops a partition, in one transaction with `release`, unless that resolves with false. Resolves with whether it was
 * dropped: not if somebody reads it for longer. Throws as `query` does.
 */
export async function dropPartition(
  database: Database,
  name: string,
  release: (tx: Queryable) => Promise<boolean> = async () => true,
): Promise<boolean> {
  try {
    return await database.transaction(async (tx) => {
      await tx.query(ONE_AT_A_TIME);
      if (!(await release(tx))) return false;
      await tx.query(LOCK_WAIT);
      await tx.query(`DROP TABLE IF EXISTS connector.${name}`);
      return true;
    });
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/**
 * A time that is not earlier than the newest row of the inbox, and at most a day later; null if there is none. Reads
 * one row of each day at most.
 */
export async function readNewestInboxAt(db: Queryable): Promise<number | null> {
  for (const { name, to } of (await listPartitions(db, 'inbox')).reverse()) {
    const [row] = await db.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM connector.${name}) AS found`,
    );
    if (row?.found === true) return to;
  }
  return null;
}

/** When the oldest kept day of the inbox begins, epoch ms; null if there is none. */
export async function readInboxSince(db: Queryable): Promise<number | null> {
  const [oldest] = await listPartitions(db, 'inbox');
  return oldest?.from ?? null;
}
