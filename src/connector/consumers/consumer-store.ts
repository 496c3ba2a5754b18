import { and, eq, getTableColumns, inArray, isNotNull, isNull, ne, or, sql } from 'drizzle-orm';
import type { Change } from '../../contract/connector/changes.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { consumerPlaces, consumers, parked } from '../db/consumer-tables.ts';
import { needOrDelete } from '../db/delete-old-changes.ts';
import { heldLease, type Lease } from '../db/lease.ts';
import { leases, processes } from '../db/process-tables.ts';
import { changeColumns, fromChangeOf, presentChange, type StoredChange } from '../feed/present-change.ts';
import type { ParkedRow } from './key.ts';
import type { Progress } from './partition.ts';
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
      // No version of one that had the same name and was deleted.
      .values({ version: row.createdAt, ...row })
      .onConflictDoNothing()
      .returning({ name: consumers.name });
    if (added.length === 0) return false;
    await needOrDelete(tx);
    const places = Array.from({ length: PARTITIONS }, (_, partition) => ({
      consumer: row.name,
      partition,
      place,
    }));
    await orm(tx).insert(consumerPlaces).values(places);
    return true;
  });
}

/**
 * The consumer is not called again until somebody resumes it, unless it was changed since it answered: the answer says
 * nothing about its new settings. Throws as `query` does.
 */
export async function disableConsumer(
  db: Queryable,
  { name, version }: Pick<ConsumerRow, 'name' | 'version'>,
  reason: string,
): Promise<void> {
  await orm(db)
    .update(consumers)
    .set({ state: 'disabled', disabledReason: reason, version: version + 1 })
    .where(and(eq(consumers.name, name), eq(consumers.version, version), eq(consumers.state, 'running')));
}

/** Notes why a consumer is away, or with null that it is not. Writes only what is new. Throws as `query` does. */
export async function noteOutage(
  db: Queryable,
  consumer: string,
  reason: string | null,
  now: number,
): Promise<void> {
  const { name, unavailableSince: since, unavailableReason } = consumers;
  const away = { unavailableSince: sql`coalesce(${since}, ${now}::bigint)`, unavailableReason: reason };
  const isNews = reason === null ? isNotNull(since) : or(isNull(since), ne(unavailableReason, reason));
  await orm(db)
    .update(consumers)
    .set(reason === null ? { unavailableSince: null, unavailableReason: null } : away)
    .where(and(eq(name, consumer), isNews));
}

/**
 * The first number in the feed that a consumer still needs: it has not been called with it, or the change is a dead letter.
 * Null without consumers. Throws as `query` does.
 */
async function readFirstNeeded(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ seq: number | null }>(
    `SELECT least((SELECT min(place) + 1
                    FROM (SELECT DISTINCT ON (consumer, partition) place FROM connector.consumer_places
                           ORDER BY consumer, partition, id DESC) newest),
                  (SELECT min(seq) FROM connector.parked_entries),
                  (SELECT min(seq) FROM connector.dead_letters)) AS seq`,
  );
  return row?.seq ?? null;
}

/**
 * `readFirstNeeded` for transactions that follow each other. Until a consumer is added or changed, the number only rises,
 * so it is not looked for again.
 */
export function followFirstNeeded(): typeof readFirstNeeded {
  let known: { readonly versions: string | null; readonly seq: number | null } | undefined;
  return async (db) => {
    const [row] = await db.query<{ versions: string | null }>(
      `SELECT string_agg(name || ' ' || version, ',' ORDER BY name) AS versions FROM connector.consumers`,
    );
    const versions = row?.versions ?? null;
    if (known?.versions !== versions) known = { versions, seq: await readFirstNeeded(db) };
    return known.seq;
  };
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
  /** The row of its place. */
  readonly placeId: number;
  readonly place: number;
  /** Its previous owner ended without an orderly stop. */
  readonly died: boolean;
  /** Numbers of the dead letters above the place. */
  readonly letters: readonly number[];
}

const OPEN = `
WITH before AS MATERIALIZED (
  SELECT p.id, p.place, p.open FROM connector.consumer_places p WHERE p.consumer = $1 AND p.partition = $2::integer
     AND EXISTS (${heldLease('$3', '$4')}) ORDER BY p.id DESC LIMIT 1 FOR UPDATE OF p
),
opened AS (
  UPDATE connector.consumer_places p SET open = true FROM before b
   WHERE p.consumer = $1 AND p.partition = $2::integer AND p.id = b.id
),
left_over AS (
  DELETE FROM connector.consumer_places p USING before b
   WHERE p.consumer = $1 AND p.partition = $2::integer AND p.id < b.id
)
SELECT b.id AS "placeId", b.place, b.open AS died,
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

const LOST_ENTRIES = `
DELETE FROM connector.parked_entries e
 WHERE e.consumer = $1 AND e.seq <= (SELECT f.deleted_seq FROM connector.feed f)
   AND NOT EXISTS (SELECT ${fromChangeOf('e')})`;

/**
 * Deletes entries whose changes are not in the feed any more, as an earlier version could leave them: nothing would ever
 * end them, and later changes would be kept for them. Throws as `query` does.
 */
export async function deleteLostEntries(db: Queryable, consumer: string): Promise<void> {
  await db.query(LOST_ENTRIES, [consumer]);
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
   SELECT n.* FROM connector.change_batches n
    WHERE n.last_seq >= e.seq ORDER BY n.last_seq LIMIT 1) b
 CROSS JOIN LATERAL (
   SELECT e.seq, ${changeColumns('h')} FROM connector.changes h
    WHERE h.batch = b.id AND h.at = b.changed_at AND h.position = b.size - (b.last_seq - e.seq) OFFSET 0) c
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
 * is not written. The revision of a row says whether another process has written it: see `Written`.
 */
const WRITE = `
WITH held AS MATERIALIZED (
  SELECT g.* FROM json_to_recordset($2) AS g (partition integer, lease text, fence bigint, "placeId" bigint, place bigint,
                                              open boolean)
   WHERE EXISTS (${heldLease('g.lease', 'g.fence')})
),
moved AS (
  INSERT INTO connector.consumer_places (consumer, partition, place, open)
  SELECT $1, h.partition, h.place, h.open FROM held h
  RETURNING partition, id
),
replaced AS (
  -- What a lost answer has left behind is deleted when the partition is opened.
  DELETE FROM connector.consumer_places p
   WHERE p.consumer = $1 AND p.partition = ANY (ARRAY(SELECT h.partition FROM held h))
     AND p.id = ANY (ARRAY(SELECT h."placeId" FROM held h))
),
entered AS (
  INSERT INTO connector.parked_entries (consumer, key, seq, attempts)
  SELECT $1, e.key, e.seq, e.attempts
    FROM json_to_recordset($3) AS e (partition integer, key text, seq bigint, attempts integer)
    JOIN held USING (partition)
  ON CONFLICT DO NOTHING
),
done AS (
  DELETE FROM connector.parked_entries p
   USING json_to_recordset($4) AS e (partition integer, key text, seq bigint) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.seq = e.seq
),
ended AS (
  DELETE FROM connector.parked p
   USING json_to_recordset($5) AS e (partition integer, key text, revision integer) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.revision = e.revision
     -- So that it never reads all rows.
     AND p.key = ANY (ARRAY(SELECT o.key FROM json_to_recordset($5) AS o (key text)))
),
written AS (
  INSERT INTO connector.parked AS p
         (consumer, partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
  SELECT $1, r.partition, r.key, r."connectionId", r.seq, r."dueAt", r.attempts, r."lastError", r.since, r.revision + 1
    FROM json_to_recordset($6) AS r (partition integer, key text, "connectionId" text, seq bigint, "dueAt" bigint,
                                     attempts integer, "lastError" text, since bigint, revision integer)
    JOIN held USING (partition)
  ON CONFLICT (consumer, key) DO UPDATE
    SET seq = excluded.seq, due_at = excluded.due_at, attempts = excluded.attempts, last_error = excluded.last_error,
        since = excluded.since, revision = p.revision + 1
  RETURNING p.key, p.revision
),
letters AS (
  INSERT INTO connector.dead_letters AS d (consumer, seq, connection_id, message_id, attempts, last_error, at)
  SELECT $1, l.seq, l."connectionId", l."messageId", l.attempts, l."lastError", $8::bigint
    FROM json_to_recordset($7) AS l (partition integer, seq bigint, "connectionId" text, "messageId" text, attempts integer,
                                     "lastError" text)
    JOIN held USING (partition)
  ON CONFLICT (consumer, seq) DO UPDATE
    SET attempts = excluded.attempts, last_error = excluded.last_error, at = excluded.at
)
SELECT ARRAY(SELECT json_build_object('partition', m.partition, 'placeId', m.id) FROM moved m) AS held,
       ARRAY(SELECT e.key FROM json_to_recordset($5) AS e (key text, revision integer) WHERE NOT EXISTS (
         SELECT FROM connector.parked p WHERE p.consumer = $1 AND p.key = e.key AND p.revision <> e.revision OFFSET 0)) AS ended,
       ARRAY(SELECT to_json(w) FROM written w) AS written`;

/** What is to be written of a partition, and under which lease. */
export interface Write {
  readonly progress: Progress;
  readonly lease: Lease;
  /** The row of the place as it is. */
  readonly placeId: number;
  /** False: the partition is given back in an orderly way. */
  readonly open: boolean;
}

/** What was written. */
export interface Written {
  /** The partitions that are still held, and the rows of their places. */
  readonly held: ReadonlyMap<number, number>;
  /** Keys without a row of `parked`. One that is missing was written by another process. */
  readonly ended: ReadonlySet<string>;
  /** The rows of `parked`, by key. A revision that is not the next one: another process has written it in between. */
  readonly revisions: ReadonlyMap<string, number>;
}

interface WrittenRow {
  readonly held: readonly { readonly partition: number; readonly placeId: number }[];
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
  /** What all partitions have to write, each with its partition. */
  function list(of: (progress: Progress) => readonly object[]): string {
    const rows = writes.flatMap(({ progress }) =>
      of(progress).map((row) => ({ ...row, partition: progress.partition })),
    );
    return JSON.stringify(rows);
  }
  const places = writes.map(
    ({ progress: { partition, place }, lease: { name: lease, fence }, placeId, open }) => {
      return { partition, place, lease, fence, placeId, open };
    },
  );
  const [row] = await db.query<WrittenRow>(WRITE, [
    consumer,
    JSON.stringify(places),
    list(({ entries }) => entries),
    list(({ doneEntries }) => doneEntries),
    list(({ endedRows }) => endedRows),
    list(({ rows }) => rows),
    list(({ letters }) => letters),
    now,
  ]);
  const { held = [], ended = [], written = [] } = row ?? {};
  return {
    held: new Map(held.map(({ partition, placeId }) => [partition, placeId])),
    ended: new Set(ended),
    revisions: new Map(written.map(({ key, revision }) => [key, revision])),
  };
}
