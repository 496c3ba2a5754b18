import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import type { Change } from '../../contract/connector/changes.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { consumerPlaces, consumers, parked } from '../db/consumer-tables.ts';
import { heldLease, type Lease } from '../db/lease.ts';
import { leases, processes } from '../db/lease-tables.ts';
import { changeColumns, presentChange, type StoredChange } from '../feed/present-change.ts';
import type { ParkedRow, Progress } from './partition.ts';
import { PARTITIONS } from './partition-of.ts';

/** The kinds of leases: of a partition, as `<consumer>/<partition>`, and of a process that takes part. */
export const CONSUMER = 'consumer';
export const MEMBER = 'consumer-member';

export type ConsumerRow = typeof consumers.$inferSelect;

/** All consumers, by name. Throws as `query` does. */
export async function readConsumers(db: Queryable): Promise<ConsumerRow[]> {
  return await orm(db).select().from(consumers).orderBy(consumers.name);
}

/**
 * Adds a consumer that begins after `place`. False if the name is taken, and nothing changes. Throws as `query` does.
 */
export async function addConsumer(
  db: Database,
  row: typeof consumers.$inferInsert,
  place: number,
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const added = await orm(tx)
      .insert(consumers)
      .values(row)
      .onConflictDoNothing()
      .returning({ name: consumers.name });
    if (added.length === 0) return false;
    const places = Array.from({ length: PARTITIONS }, (_, partition) => ({
      consumer: row.name,
      partition,
      place,
    }));
    await orm(tx).insert(consumerPlaces).values(places);
    return true;
  });
}

/** The consumer is not called again until somebody resumes it. Throws as `query` does. */
export async function disableConsumer(db: Queryable, name: string, reason: string): Promise<void> {
  await orm(db)
    .update(consumers)
    .set({ state: 'disabled', disabledReason: reason, version: sql`${consumers.version} + 1` })
    .where(and(eq(consumers.name, name), eq(consumers.state, 'running')));
}

/** Who takes part in a consumer: names and owners of the leases of its members and partitions. */
export async function readShares(db: Queryable, name: string) {
  const own = (kind: string) => sql`starts_with(${leases.name}, ${`${kind}:${name}/`})`;
  return await orm(db)
    .select({ name: leases.name, owner: leases.owner })
    .from(leases)
    .innerJoin(processes, eq(processes.id, leases.owner))
    .where(sql`(${own(CONSUMER)} or ${own(MEMBER)})`);
}

/** A partition that was opened. */
export interface OpenedPartition {
  readonly place: number;
  /** Its previous owner ended without an orderly stop. */
  readonly died: boolean;
  /** Numbers of the dead letters above the place. */
  readonly letters: readonly number[];
}

const OPEN = `
WITH before AS MATERIALIZED (
  SELECT p.place, p.open FROM connector.consumer_places p WHERE p.consumer = $1 AND p.partition = $2::integer
     AND EXISTS (${heldLease('$3', '$4')}) FOR UPDATE OF p
),
opened AS (
  UPDATE connector.consumer_places p SET open = true FROM before b
   WHERE p.consumer = $1 AND p.partition = $2::integer
)
SELECT b.place, b.open AS died,
       ARRAY(SELECT d.seq FROM connector.dead_letters d WHERE d.consumer = $1 AND d.seq > b.place) AS letters
  FROM before b`;

/** Opens a partition under its lease; undefined if the lease was lost or the consumer was deleted. */
export async function openPartition(
  db: Queryable,
  consumer: string,
  partition: number,
  { name, fence }: Lease,
): Promise<OpenedPartition | undefined> {
  const [row] = await db.query<OpenedPartition>(OPEN, [consumer, partition, name, fence]);
  return row;
}

/** The parked keys of these partitions. Throws as `query` does. */
export async function readParked(
  db: Queryable,
  consumer: string,
  partitions: readonly number[],
): Promise<ParkedRow[]> {
  const { consumer: _, ...columns } = getTableColumns(parked);
  return await orm(db)
    .select(columns)
    .from(parked)
    .where(and(eq(parked.consumer, consumer), inArray(parked.partition, [...partitions])));
}

/** Maximum number of entries of a key that are read at once. */
export const ENTRIES = 100;

const READ_ENTRIES = `
SELECT w.key, e.attempts, c.*
  FROM unnest($2::text[], $3::bigint[]) AS w (key, above)
 CROSS JOIN LATERAL (
   SELECT n.seq, n.attempts FROM connector.parked_entries n
    WHERE n.consumer = $1 AND n.key = w.key AND n.seq > w.above ORDER BY n.seq LIMIT ${ENTRIES}) e
 CROSS JOIN LATERAL (
   SELECT n.id, n.size, n.last_seq FROM connector.change_batches n
    WHERE n.last_seq >= e.seq ORDER BY n.last_seq LIMIT 1) b
 CROSS JOIN LATERAL (
   SELECT e.seq, ${changeColumns('h')} FROM connector.changes h
    WHERE h.batch = b.id AND h.position = b.size - (b.last_seq - e.seq) OFFSET 0) c
 ORDER BY w.key, e.seq`;

export interface ReadEntry {
  readonly change: Change;
  readonly attempts: number;
}

/** The next entries of each key above a number, in order. Throws as `query` does. */
export async function readEntries(
  db: Queryable,
  consumer: string,
  keys: readonly { readonly name: string; readonly readTo: number }[],
): Promise<ReadonlyMap<string, readonly ReadEntry[]>> {
  const params = [consumer, keys.map(({ name }) => name), keys.map(({ readTo }) => readTo)];
  const rows = await db.query<StoredChange & { key: string; attempts: number }>(READ_ENTRIES, params);
  const read = rows.map(({ key, attempts, ...stored }) => ({ key, attempts, change: presentChange(stored) }));
  return Map.groupBy(read, ({ key }) => key);
}

/*
 * Everything that a process has to write of a consumer, in one statement. What belongs to a partition that it has lost
 * is not written. A row of `parked` is written only if its revision is the one that the process knows.
 */
const WRITE = `
WITH held AS MATERIALIZED (
  SELECT g.* FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[])
         AS g (partition, lease, fence, place, open)
   WHERE EXISTS (${heldLease('g.lease', 'g.fence')})
),
moved AS (
  UPDATE connector.consumer_places p SET place = h.place, open = h.open
    FROM held h WHERE p.consumer = $1 AND p.partition = h.partition
),
entered AS (
  INSERT INTO connector.parked_entries (consumer, key, seq, attempts)
  SELECT $1, e.key, e.seq, e.attempts
    FROM unnest($7::integer[], $8::text[], $9::bigint[], $10::integer[]) AS e (partition, key, seq, attempts)
    JOIN held USING (partition)
  ON CONFLICT DO NOTHING
),
done AS (
  DELETE FROM connector.parked_entries p
   USING unnest($11::integer[], $12::text[], $13::bigint[]) AS e (partition, key, seq) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.seq = e.seq
),
ended AS (
  DELETE FROM connector.parked p
   USING unnest($14::integer[], $15::text[], $16::integer[]) AS e (partition, key, revision) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.revision = e.revision
  RETURNING p.key
),
written AS (
  INSERT INTO connector.parked AS p
         (consumer, partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
  SELECT $1, r.* FROM unnest($17::integer[], $18::text[], $19::text[], $20::bigint[], $21::bigint[], $22::integer[],
                             $23::text[], $24::bigint[], $25::integer[])
         AS r (partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
    JOIN held USING (partition)
  ON CONFLICT (consumer, key) DO UPDATE
    SET seq = excluded.seq, due_at = excluded.due_at, attempts = excluded.attempts, last_error = excluded.last_error,
        since = excluded.since, revision = excluded.revision
    WHERE p.revision = excluded.revision - 1
  RETURNING p.key, p.revision
),
letters AS (
  INSERT INTO connector.dead_letters AS d (consumer, seq, connection_id, attempts, last_error, at)
  SELECT $1, l.seq, l.connection_id, l.attempts, l.last_error, $31::bigint
    FROM unnest($26::integer[], $27::bigint[], $28::text[], $29::integer[], $30::text[])
         AS l (partition, seq, connection_id, attempts, last_error) JOIN held USING (partition)
  ON CONFLICT (consumer, seq) DO UPDATE
    SET attempts = excluded.attempts, last_error = excluded.last_error, at = excluded.at
)
SELECT ARRAY(SELECT h.partition FROM held h) AS held, ARRAY(SELECT e.key FROM ended e) AS ended,
       ARRAY(SELECT to_json(w) FROM written w) AS written`;

/** What is to be written of a partition, and under which lease. */
export interface Write {
  readonly progress: Progress;
  readonly lease: Lease;
  /** False: the partition is given back in an orderly way. */
  readonly open: boolean;
}

/** What was written: partitions that are still held, and what became of the rows of `parked`. */
export interface Written {
  readonly held: readonly number[];
  readonly ended: readonly string[];
  readonly written: readonly { readonly key: string; readonly revision: number }[];
}

/** Writes all of it in one statement, which can be repeated. Throws as `query` does. */
export async function writeProgress(
  db: Queryable,
  consumer: string,
  writes: readonly Write[],
  now: number,
): Promise<Written> {
  /** The columns of what all partitions have to write, each with its partition in front. */
  function columns<Row>(
    of: (progress: Progress) => readonly Row[],
    ...values: readonly ((row: Row) => unknown)[]
  ) {
    const rows = writes.flatMap(({ progress }) =>
      of(progress).map((row) => ({ row, at: progress.partition })),
    );
    return [rows.map(({ at }) => at), ...values.map((value) => rows.map(({ row }) => value(row)))];
  }
  const params = [
    consumer,
    writes.map(({ progress }) => progress.partition),
    writes.map(({ lease }) => lease.name),
    writes.map(({ lease }) => lease.fence),
    writes.map(({ progress }) => progress.place),
    writes.map(({ open }) => open),
    ...columns(
      ({ entries }) => entries,
      (e) => e.key,
      (e) => e.seq,
      (e) => e.attempts,
    ),
    ...columns(
      ({ doneEntries }) => doneEntries,
      (e) => e.key,
      (e) => e.seq,
    ),
    ...columns(
      ({ endedRows }) => endedRows,
      (r) => r.key,
      (r) => r.revision,
    ),
    ...columns(
      ({ rows }) => rows,
      (r) => r.key,
      (r) => r.connectionId,
      (r) => r.seq,
      (r) => r.dueAt,
      (r) => r.attempts,
      (r) => r.lastError,
      (r) => r.since,
      (r) => r.revision + 1,
    ),
    ...columns(
      ({ letters }) => letters,
      (l) => l.seq,
      (l) => l.connectionId,
      (l) => l.attempts,
      (l) => l.lastError,
    ),
    now,
  ];
  const [row] = await db.query<Written>(WRITE, params);
  return row ?? { held: [], ended: [], written: [] };
}
