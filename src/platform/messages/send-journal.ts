import { createHash } from 'node:crypto';
import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MediaFile, MediaReference } from '../media/media-file.ts';

/** A send under way, written down before the network hears of it. */
export interface JournalEntry {
  /** Taken beforehand, so that network and service mean the same message. */
  readonly messageId: string;
  readonly workspaceId: string;
  readonly connectionId: string;
  /** Digits of the recipient. */
  readonly to: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  readonly media: MediaReference | null;
}

/** The answer of a send that the network took over. A file's send names the network id twice. */
export function sentAnswer(
  { media }: Pick<JournalEntry, 'media'>,
  { messageId, waMessageId }: { readonly messageId: string | null; readonly waMessageId: string | null },
): SendMessageAnswer {
  return {
    messageId,
    waMessageId,
    status: 'sent',
    // [messages.send.degraded]
    ...(messageId === null ? { persisted: false } : {}),
    // [messages.send.wa-media] [choice.wa-ids]
    ...(media === null ? {} : { wa_message_id: waMessageId }),
  };
}

/** A send that asks for its key: what it sends is known as a whole. */
export interface SendClaim extends JournalEntry {
  readonly media: MediaFile | null;
}

/** What became of a claim. */
export type Claim =
  | { readonly outcome: 'claimed' }
  /** The first send with this key has no answer yet. `same`: it has the same connection, recipient and content. */
  | { readonly outcome: 'held'; readonly messageId: string; readonly same: boolean }
  /** The first send with this key was answered 200. */
  | { readonly outcome: 'answered'; readonly answer: SendMessageAnswer; readonly same: boolean };

/**
 * Equal for two sends exactly when connection, recipient, text and file (its name, type and bytes) are equal.
 * [choice.send-key.other-body]
 */
function hashMessage({ connectionId, to, text, media }: SendClaim): Buffer {
  const file = media && [media.filename, media.mimetype, Buffer.from(media.sha256).toString('hex')];
  return createHash('sha256')
    .update(JSON.stringify([connectionId, to, text, file]))
    .digest();
}

/**
 * Claims a key for a send, or reports what the send that holds it came to. Keys are per workspace and free
 * again 24 hours after the claim, but never while they are held. A send without a key always gets its claim.
 * [messages.send.retry] [choice.send-key.lifetime]
 */
export async function claimSend(
  db: Queryable,
  entry: SendClaim,
  idempotencyKey: string | null,
  now: number,
): Promise<Claim> {
  const key = idempotencyKey === null ? null : createHash('sha256').update(idempotencyKey).digest();
  const message = hashMessage(entry);
  const expiresAt = now + ASSUMPTIONS.sendKeyLifetimeMs.value;
  const claimed = await db.query(
    `INSERT INTO platform.sends AS held
       (message_id, workspace_id, connection_id, recipient, text, media_id, media_type, key_hash, started_at,
        expires_at, message_hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (workspace_id, key_hash) WHERE key_hash IS NOT NULL
     DO UPDATE SET message_id = excluded.message_id, connection_id = excluded.connection_id,
       recipient = excluded.recipient, text = excluded.text, media_id = excluded.media_id,
       media_type = excluded.media_type, message_hash = excluded.message_hash, answer = NULL,
       started_at = excluded.started_at, expires_at = excluded.expires_at
       WHERE held.answer IS NOT NULL AND held.expires_at <= excluded.started_at
     RETURNING message_id`,
    [
      entry.messageId,
      entry.workspaceId,
      entry.connectionId,
      entry.to,
      entry.text,
      entry.media?.id ?? null,
      entry.media?.mimetype ?? null,
      key,
      now,
      expiresAt,
      message,
    ],
  );
  if (claimed.length > 0) return { outcome: 'claimed' };
  const [held] = await db.query<{ message_id: string; answer: string | null; same: boolean }>(
    `SELECT message_id, answer, message_hash = $3 AS same FROM platform.sends
     WHERE workspace_id = $1 AND key_hash = $2`,
    [entry.workspaceId, key, message],
  );
  // Freed in between: the key is there for the taking.
  if (held === undefined) return claimSend(db, entry, idempotencyKey, now);
  const { same } = held;
  if (held.answer === null) return { outcome: 'held', messageId: held.message_id, same };
  return { outcome: 'answered', answer: JSON.parse(held.answer), same };
}

/** Frees the key of a send that was refused or failed. [choice.send-key.remembers] */
export async function freeSend(db: Queryable, messageId: string): Promise<void> {
  await db.query('DELETE FROM platform.sends WHERE message_id = $1 AND answer IS NULL', [messageId]);
}

/** Keeps the answer under the key; without a key there is nothing to remember. [choice.send-key.remembers] */
export async function answerSend(db: Queryable, messageId: string, answer: SendMessageAnswer): Promise<void> {
  await db.query(
    `WITH keyless AS (DELETE FROM platform.sends WHERE message_id = $1 AND key_hash IS NULL)
     UPDATE platform.sends SET answer = $2, text = NULL WHERE message_id = $1 AND key_hash IS NOT NULL`,
    [messageId, JSON.stringify(answer)],
  );
}

interface EntryRow {
  message_id: string;
  workspace_id: string;
  connection_id: string;
  recipient: string;
  text: string | null;
  media_id: string | null;
  media_type: string | null;
}

/** Sends without an answer: all, or those with the given ids. Oldest first. */
export async function readUnanswered(db: Queryable, messageIds?: readonly string[]): Promise<JournalEntry[]> {
  const rows = await db.query<EntryRow>(
    `SELECT message_id, workspace_id, connection_id, recipient, text, media_id, media_type FROM platform.sends
     WHERE answer IS NULL AND ($1::text[] IS NULL OR message_id = ANY($1::text[]))
     ORDER BY started_at, message_id`,
    [messageIds ?? null],
  );
  return rows.map((row) => ({
    messageId: row.message_id,
    workspaceId: row.workspace_id,
    connectionId: row.connection_id,
    to: row.recipient,
    text: row.text,
    media:
      row.media_id === null || row.media_type === null
        ? null
        : { id: row.media_id, mimetype: row.media_type },
  }));
}

const FORGOTTEN_AT_ONCE = 10_000;

/** Forgets answers whose keys are free again. */
export async function forgetExpiredSends(db: Queryable, now: number): Promise<void> {
  for (;;) {
    const forgotten = await db.query(
      `DELETE FROM platform.sends WHERE message_id IN (
         SELECT message_id FROM platform.sends WHERE answer IS NOT NULL AND expires_at <= $1 LIMIT $2
         FOR UPDATE SKIP LOCKED)
       RETURNING message_id`,
      [now, FORGOTTEN_AT_ONCE],
    );
    if (forgotten.length < FORGOTTEN_AT_ONCE) return;
  }
}
