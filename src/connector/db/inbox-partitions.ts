import { type Database, type Queryable, sqlState } from '../../runtime/database/database.ts';

const DAY_MS = 86_400_000;
/** Advisory lock for creating and dropping partitions, in one process at a time. */
const LOCK = 7_204_116;
/** A day may have rows in the default partition that must be moved first. */
const MOVE_DEADLINE_MS = 60_000;
/**
 * Creating or dropping a partition needs a lock that excludes readers, and deliveries wait behind a pending
 * lock request. So the request is given up after a time that senders hardly notice; slow readers, such as a
 * backup, take precedence.
 */
const LOCK_WAIT = `SET LOCAL lock_timeout = '200ms'`;
const LOCK_NOT_AVAILABLE = '55P03';
const NAME = /^inbox_(\d{4})(\d{2})(\d{2})$/;

/** The UTC day that contains `ms`, and the name of its partition. */
function dayOf(ms: number): { readonly name: string; readonly from: number; readonly to: number } {
  const from = Math.floor(ms / DAY_MS) * DAY_MS;
  const name = `inbox_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
  return { name, from, to: from + DAY_MS };
}

/** Names of the partitions of the inbox, including the default one. */
export async function listInboxPartitions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'connector.inbox'::regclass`,
  );
  return rows.map((row) => row.name);
}

/**
 * Creates the missing partitions of the inbox for the day of `now` and the `ahead` days after it. Resolves with
 * their number. Several processes may do this at the same time. Rows of such a day in the default partition are
 * moved. Throws as `query` does, also if a slow reader of the default partition is in the way; partitions
 * created before the failure remain.
 */
export async function makeInboxPartitions(database: Database, now: number, ahead: number): Promise<number> {
  const present = new Set(await listInboxPartitions(database));
  const days = Array.from({ length: ahead + 1 }, (_, offset) => dayOf(now + offset * DAY_MS));
  let made = 0;
  for (const day of days.filter(({ name }) => !present.has(name))) {
    const isNew = await database.transaction((tx) => makePartition(tx, day), {
      deadlineMs: MOVE_DEADLINE_MS,
    });
    if (isNew) made += 1;
  }
  return made;
}

async function makePartition(tx: Queryable, { name, from, to }: ReturnType<typeof dayOf>): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  if ((await listInboxPartitions(tx)).includes(name)) return false;
  await tx.query(LOCK_WAIT);
  await tx.query(`CREATE TABLE connector.${name} (LIKE connector.inbox INCLUDING DEFAULTS)`);
  // From here on, nothing can be written to the default partition, so it no longer has a row of the day.
  await tx.query('LOCK TABLE connector.inbox_default IN ACCESS EXCLUSIVE MODE');
  await tx.query(
    `WITH moved AS (
       DELETE FROM connector.inbox_default WHERE received_at >= $1::bigint AND received_at < $2::bigint RETURNING *
     )
     INSERT INTO connector.${name} SELECT * FROM moved`,
    [from, to],
  );
  await tx.query(
    `ALTER TABLE connector.inbox ATTACH PARTITION connector.${name} FOR VALUES FROM (${from}) TO (${to})`,
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
  const old = (await listInboxPartitions(database)).filter((name) => endOfPartition(name) <= before);
  let dropped = 0;
  for (const name of old) if (await dropPartition(database, name)) dropped += 1;
  await database.query('DELETE FROM connector.inbox_default WHERE received_at < $1::bigint', [before], {
    deadlineMs: MOVE_DEADLINE_MS,
  });
  return { dropped, busy: old.length - dropped };
}

async function dropPartition(database: Database, name: string): Promise<boolean> {
  try {
    await database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      await tx.query(LOCK_WAIT);
      await tx.query(`DROP TABLE IF EXISTS connector.${name}`);
    });
    return true;
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
  const days = (await listInboxPartitions(db))
    .filter((name) => NAME.test(name))
    .sort()
    .reverse();
  for (const name of days) {
    const [row] = await db.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM connector.${name}) AS found`,
    );
    if (row?.found === true) return endOfPartition(name);
  }
  return null;
}

/** When the oldest kept day of the inbox begins, epoch ms; null if there is none. */
export async function readInboxSince(db: Queryable): Promise<number | null> {
  const starts = (await listInboxPartitions(db))
    .map((name) => endOfPartition(name) - DAY_MS)
    .filter(Number.isFinite);
  return starts.length === 0 ? null : Math.min(...starts);
}

/** When the day of a partition ends, epoch ms; `Infinity` for one that is not a day. */
export function endOfPartition(name: string): number {
  const [, year, month, day] = NAME.exec(name) ?? [];
  if (year === undefined) return Number.POSITIVE_INFINITY;
  return Date.UTC(Number(year), Number(month) - 1, Number(day)) + DAY_MS;
}
