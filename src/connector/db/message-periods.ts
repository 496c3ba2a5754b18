import type { Database, Queryable } from '../../runtime/database/database.ts';
import { LOCK_WAIT, ONE_AT_A_TIME } from './time-partitions.ts';

/*
 * The partitions of `messages`, by the period in which each message was first stored. Without a retention there is only
 * the first one, `messages_undivided`. Then no message is looked for in others, and the merge writes to that partition
 * itself. Its name goes when a second one begins: from then on, the database refuses such a statement.
 */

/** Whether this process knows of a second period. Statements for several periods suit one as well, but cost more. */
export const messagesAre = { divided: false };

/** Times in epoch ms. */
export interface MessagePeriod {
  /** Of its partition. */
  readonly name: string;
  /** 0 for the first one. */
  readonly from: number;
  /** When the next one began: no message was filed under this one afterwards. Null: it is the present one. */
  readonly to: number | null;
}

/** The periods, the oldest first. */
export async function listMessagePeriods(db: Queryable): Promise<MessagePeriod[]> {
  return await db.query<MessagePeriod>(
    String.raw`SELECT p.name, p.began AS from, lead(p.began) OVER (ORDER BY p.began) AS to
      FROM (SELECT c.relname AS name,
                   substring(pg_get_expr(c.relpartbound, c.oid) FROM '^FOR VALUES IN \(''(\d+)''\)$')::bigint AS began
              FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'connector.messages'::regclass) p
     WHERE p.began IS NOT NULL ORDER BY p.began`,
  );
}

/**
 * Begins a new period if the present one is older than `lengthMs`. Resolves with whether it did. Throws as `query` does,
 * also if somebody reads messages for a long time.
 *
 * The lock waits for statements that store messages, and those that come later wait for it. So two statements that store
 * the same new message file it under the same period, where one of them finds the other's row.
 */
export async function beginMessagePeriod(
  database: Database,
  now: number,
  lengthMs: number,
): Promise<boolean> {
  const present = await readPresentPeriod(database);
  if (present > 0) messagesAre.divided = true;
  if (now - present < lengthMs) return false;
  return await database.transaction(async (tx) => {
    await tx.query(ONE_AT_A_TIME);
    if (now - (await readPresentPeriod(tx)) < lengthMs) return false;
    await tx.query(LOCK_WAIT);
    await tx.query('LOCK TABLE ONLY connector.messages IN SHARE MODE');
    await tx.query('ALTER TABLE IF EXISTS connector.messages_undivided RENAME TO messages_0');
    // The room on each page as in the migration.
    await tx.query(
      `CREATE TABLE connector.messages_${now} (LIKE connector.messages INCLUDING DEFAULTS) WITH (fillfactor = 80)`,
    );
    await tx.query(
      `ALTER TABLE connector.messages ATTACH PARTITION connector.messages_${now} FOR VALUES IN (${now})`,
    );
    await tx.query('UPDATE connector.feed SET messages_from = $1', [now]);
    messagesAre.divided = true;
    return true;
  });
}

async function readPresentPeriod(db: Queryable): Promise<number> {
  const [row] = await db.query<{ from: number }>('SELECT messages_from AS from FROM connector.feed');
  return row?.from ?? 0;
}
