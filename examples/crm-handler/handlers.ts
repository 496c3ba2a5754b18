import { readFile } from 'node:fs/promises';
import type { Change, HandlerContext } from 'messaging-connector';
import postgres from 'postgres';

const url = process.env['CRM_DATABASE_URL'];
if (url === undefined) throw new Error('set CRM_DATABASE_URL to the Postgres of your CRM');

// One connection for each handler call that the connector runs concurrently.
const sql = postgres(url, {
  max: 10,
  connect_timeout: 5,
  connection: { statement_timeout: 10_000 },
  onnotice: () => undefined,
});
await sql.unsafe(await readFile(new URL('tables.sql', import.meta.url), 'utf8'));

/** Processes one change: its key and its effect are written in one transaction, so the effect happens exactly once. */
export async function onChange(change: Change, { key, signal }: HandlerContext): Promise<void> {
  await sql.begin(async (db) => {
    const taken = await db`
      INSERT INTO crm.taken_changes (key, taken_at) VALUES (${key}, ${change.at}) ON CONFLICT DO NOTHING`;
    // The change was processed before, but the connector did not get the confirmation.
    if (taken.count === 0) return;
    await applyChange(db, change);
    signal.throwIfAborted();
  });
}

async function applyChange(db: postgres.TransactionSql, change: Change): Promise<void> {
  switch (change.type) {
    case 'message.created':
    case 'message.updated':
      return await storeMessage(db, change);
    case 'message.status':
      return await storeStatus(db, change);
    default:
    // Add connections and sends here if you need them. Ignore unknown types, because new ones may be added.
  }
}

type MessageChange = Extract<Change, { type: 'message.created' | 'message.updated' }>;
type StatusChange = Extract<Change, { type: 'message.status' }>;

async function storeMessage(db: postgres.TransactionSql, { seq, data }: MessageChange): Promise<void> {
  // Null: polling stored the message, and the service's list does not contain the sender, or only a status is known so
  // far. An incoming message is then in crm.unassigned until a person assigns it or a late webhook adds the sender.
  if (data.peer !== null) {
    await db`
      INSERT INTO crm.contacts (phone, first_seen_at) VALUES (${data.peer}, ${data.createdAt})
      ON CONFLICT DO NOTHING`;
    await db`
      INSERT INTO crm.conversations AS c (connection_id, phone, last_message_at)
      VALUES (${data.connectionId}, ${data.peer}, ${data.createdAt})
      ON CONFLICT (connection_id, phone) DO UPDATE
        SET last_message_at = greatest(c.last_message_at, excluded.last_message_at)`;
  }
  await db`
    INSERT INTO crm.messages AS m
      (connection_id, id, phone, direction, text, media_url, status, sent_at, status_seq)
    VALUES (${data.connectionId}, ${data.id}, ${data.peer}, ${data.direction}, ${data.text}, ${data.mediaUrl},
            ${data.status}, ${data.createdAt}, ${seq})
    ON CONFLICT (connection_id, id) DO UPDATE
      SET phone = coalesce(excluded.phone, m.phone), direction = excluded.direction,
          text = coalesce(excluded.text, m.text), media_url = coalesce(excluded.media_url, m.media_url),
          sent_at = excluded.sent_at,
          status = CASE WHEN m.status_seq < excluded.status_seq THEN excluded.status ELSE m.status END,
          status_seq = greatest(m.status_seq, excluded.status_seq)`;
}

async function storeStatus(
  db: postgres.TransactionSql,
  { seq, connectionId, messageId, data }: StatusChange,
): Promise<void> {
  await db`
    INSERT INTO crm.messages AS m (connection_id, id, status, status_seq)
    VALUES (${connectionId}, ${messageId}, ${data.status}, ${seq})
    ON CONFLICT (connection_id, id) DO UPDATE SET status = excluded.status, status_seq = excluded.status_seq
      WHERE m.status_seq < excluded.status_seq`;
}
