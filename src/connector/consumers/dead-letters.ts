import { lt } from 'drizzle-orm';
import type { DeadLetter } from '../../contract/connector/changes.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { deadLetters } from '../db/consumer-tables.ts';
import { type ErasedMessages, NAMED, namesOf } from '../db/erase-messages.ts';
import { changeColumns, fromChangeOf, presentChange, type StoredChange } from '../feed/present-change.ts';

/** The consumer of the CRM's own code. */
export const HANDLER = 'handler';

/**
 * The key of a change for a consumer: the id of the feed and the number of the change, and the name of the consumer
 * unless it is the handler. Numbers start again in another feed, and a CRM that stores keys must not mistake the first
 * changes there for known ones.
 */
export function keyFor(consumer: string, feedId: string, seq: number): string {
  return consumer === HANDLER ? `${feedId}-${seq}` : `${feedId}-${seq}-${consumer}`;
}

/** The parts of the id of a dead letter; null if it is none. */
function readId(
  id: string,
): { readonly feedId: string; readonly seq: number; readonly consumer: string } | null {
  const [, feedId = '', seq = '', consumer = HANDLER] =
    /^([0-9a-f]{12})-(\d{1,16})(?:-([a-z][a-z0-9-]{0,30}))?$/.exec(id) ?? [];
  return feedId === '' ? null : { feedId, seq: Number(seq), consumer };
}

interface StoredLetter {
  readonly feedId: string;
  readonly consumer: string;
  readonly attempts: number;
  readonly lastError: string;
  readonly setAsideAt: number;
}

/** Where a page of dead letters starts: after this one. */
export interface LetterPosition {
  readonly seq: number;
  readonly consumer: string;
}

const listOf = (letters: string): string => `
SELECT f.id AS "feedId", d.consumer, d.attempts, d.last_error AS "lastError", d.at AS "setAsideAt", c.*
  FROM connector.feed f
 CROSS JOIN LATERAL (SELECT * FROM connector.dead_letters n WHERE ${letters}) d
 CROSS JOIN LATERAL (SELECT * FROM connector.change_batches n WHERE n.last_seq >= d.seq ORDER BY n.last_seq LIMIT 1) b
 CROSS JOIN LATERAL (SELECT d.seq, ${changeColumns('h')} FROM connector.changes h
                      WHERE h.batch = b.id AND h.at = b.changed_at AND h.position = b.size - (b.last_seq - d.seq)) c`;

const NEWEST_FIRST = 'ORDER BY d.seq DESC, d.consumer DESC';

const LIST = `${listOf(`($1::bigint IS NULL OR (n.seq, n.consumer) < ($1::bigint, $2::text))
                        AND ($3::text IS NULL OR n.consumer = $3)
                      ORDER BY n.seq DESC, n.consumer DESC LIMIT $4::integer`)}
 ${NEWEST_FIRST}`;

const OF_MESSAGE = `${listOf('n.connection_id = $1 AND n.message_id = $2')} ${NEWEST_FIRST} LIMIT 1`;

/** Up to `limit` dead letters after `before` (null: from the newest), newest first, of one consumer or of all. */
export async function readDeadLetters(
  db: Queryable,
  before: LetterPosition | null,
  limit: number,
  consumer: string | null = null,
): Promise<readonly DeadLetter[]> {
  const params = [before?.seq ?? null, before?.consumer ?? null, consumer, limit];
  return (await db.query<StoredLetter & StoredChange>(LIST, params)).map(present);
}

/** The newest dead letter of a message. */
export async function findDeadLetter(
  db: Queryable,
  connectionId: string,
  messageId: string,
): Promise<DeadLetter | undefined> {
  const [row] = await db.query<StoredLetter & StoredChange>(OF_MESSAGE, [connectionId, messageId]);
  return row && present(row);
}

function present(row: StoredLetter & StoredChange): DeadLetter {
  const { feedId, consumer, attempts, lastError, setAsideAt, ...stored } = row;
  return {
    id: keyFor(consumer, feedId, stored.seq),
    consumer,
    change: presentChange(stored),
    attempts,
    lastError,
    at: toIso(setAsideAt),
  };
}

/** Deletes the dead letter of this feed, number and consumer. */
const GONE = `
WITH gone AS (
  DELETE FROM connector.dead_letters d WHERE d.consumer = $3 AND d.seq = $1::bigint
     AND EXISTS (SELECT FROM connector.feed f WHERE f.id = $2)
  RETURNING d.*
)`;

/** SQL: the partition of a connection, as `partitionOf` computes it. */
const PARTITION_OF = "get_byte(sha256(convert_to(g.connection_id, 'UTF8')), 0) & 15";

/*
 * It becomes an entry of its parked connection, so because of its number it precedes everything that waits there. It
 * keeps its number of calls, so another failure sets it aside at once and does not block its connection.
 */
const REPLAY = `${GONE},
entered AS (
  INSERT INTO connector.parked_entries (consumer, key, seq, attempts)
  SELECT g.consumer, g.connection_id, g.seq, g.attempts FROM gone g ON CONFLICT DO NOTHING
)
INSERT INTO connector.parked AS p (consumer, key, partition, connection_id, seq, due_at, attempts, since)
SELECT g.consumer, g.connection_id, ${PARTITION_OF}, g.connection_id, g.seq, 0, g.attempts, $4::bigint FROM gone g
ON CONFLICT (consumer, key) DO UPDATE SET due_at = 0, revision = p.revision + 1
RETURNING p.consumer`;

/** Has a dead letter called again, and returns its consumer; null if there is none with this id. */
export async function replayDeadLetter(db: Queryable, id: string, now: number): Promise<string | null> {
  return await takeAway(db, REPLAY, id, [now]);
}

/** Discards a dead letter; false if there is none with this id. The change stays in the feed. */
export async function removeDeadLetter(db: Queryable, id: string): Promise<boolean> {
  return (await takeAway(db, `${GONE} SELECT g.consumer FROM gone g`, id)) !== null;
}

async function takeAway(
  db: Queryable,
  statement: string,
  id: string,
  params: readonly unknown[] = [],
): Promise<string | null> {
  const named = readId(id);
  if (named === null) return null;
  const { seq, feedId, consumer } = named;
  const [letter] = await db.query<{ consumer: string }>(statement, [seq, feedId, consumer, ...params]);
  return letter?.consumer ?? null;
}

const IS_ERASED = 'm.erased AND NOT m.expired';

/** SQL: the change `h` of this row, and the row `m` of its message, are so. */
const changeIs = (row: string, condition: string): string => `EXISTS (
  SELECT ${fromChangeOf(row)}
    LEFT JOIN connector.messages m ON m.connection_id = h.connection_id AND m.id = h.message_id
   WHERE ${condition})`;

/** SQL: the change of this row is of an erased message, or of a send to nobody. */
const ofErased = (row: string): string => changeIs(row, `${IS_ERASED} OR h.data ->> 'to' = ''`);

const FORGET = [
  `UPDATE connector.dead_letters d SET last_error = 'Erased.' FROM connector.messages m
    WHERE ${IS_ERASED} AND m.connection_id = d.connection_id AND m.id = d.message_id AND d.last_error <> 'Erased.'`,
  `UPDATE connector.dead_letters d SET last_error = 'Erased.'
    WHERE d.message_id IS NULL AND d.last_error <> 'Erased.' AND ${ofErased('d')}`,
  `UPDATE connector.parked p SET last_error = 'Erased.' WHERE p.last_error <> 'Erased.' AND ${ofErased('p')}`,
];

/** The message of a change may have expired: then nothing says later that it was erased. */
const FORGET_NAMED = [
  `UPDATE connector.dead_letters d SET last_error = 'Erased.' WHERE (d.connection_id, d.message_id) IN ${NAMED}`,
  `UPDATE connector.parked p SET last_error = 'Erased.'
    WHERE p.last_error <> 'Erased.' AND ${changeIs('p', `(h.connection_id, h.message_id) IN ${NAMED}`)}`,
];

/**
 * Replaces the errors of erased changes, which may quote them. Again every hour: a consumer that had such a change in
 * memory may fail on it after the erasure.
 */
export async function forgetErrors(db: Queryable): Promise<void> {
  for (const statement of FORGET) await db.query(statement);
}

/** The same for messages that are about to be erased. */
export async function forgetErrorsOf(db: Queryable, erased: readonly ErasedMessages[]): Promise<void> {
  for (const statement of FORGET_NAMED) await db.query(statement, namesOf(erased));
}

/** As long as a failed send. The change stays in the feed. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * Deletes dead letters that were neither replayed nor discarded within 90 days, or `maxMs` if that is less. Throws as
 * `query` does.
 */
export async function deleteOldDeadLetters(
  db: Queryable,
  now: number,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  await orm(db)
    .delete(deadLetters)
    .where(lt(deadLetters.at, now - Math.min(KEPT_MS, maxMs)));
}
