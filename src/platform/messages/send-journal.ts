import { createHash } from 'node:crypto';
import { and, eq, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { sends } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MediaFile, MediaReference } from '../media/media-file.ts';

/** A send in progress, stored before the network is called. */
export interface JournalEntry {
  /** Assigned before the call, so that network and service use the same id. */
  readonly messageId: string;
  readonly workspaceId: string;
  readonly connectionId: string;
  /** Digits of the recipient. */
  readonly to: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  readonly media: MediaReference | null;
}

/** The answer to a send that the network accepted. The answer for a file contains the network id twice. */
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

/** A send that claims its key, with the complete message. */
export interface SendClaim extends JournalEntry {
  readonly media: MediaFile | null;
}

/** The result of a claim. */
export type Claim =
  | { readonly outcome: 'claimed' }
  /** The first send with this key has no answer yet. `same`: connection, recipient and content are equal. */
  | { readonly outcome: 'held'; readonly messageId: string; readonly same: boolean }
  /** The first send with this key was answered 200. */
  | { readonly outcome: 'answered'; readonly answer: SendMessageAnswer; readonly same: boolean };

/**
 * Equal for two sends if and only if connection, recipient, text and file (name, type and bytes) are equal.
 * [choice.send-key.other-body]
 */
function hashMessage({ connectionId, to, text, media }: SendClaim): Buffer {
  const file = media && [media.filename, media.mimetype, Buffer.from(media.sha256).toString('hex')];
  return createHash('sha256')
    .update(JSON.stringify([connectionId, to, text, file]))
    .digest();
}

/**
 * Claims a key for a send, or returns the result of the send that holds it. Keys are per workspace and reusable 24
 * hours after the claim, but not while they are held. A send without a key always succeeds in its claim.
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
  const claim = {
    ...{
      messageId: entry.messageId,
      connectionId: entry.connectionId,
      recipient: entry.to,
      text: entry.text,
    },
    ...{ mediaId: entry.media?.id ?? null, mediaType: entry.media?.mimetype ?? null, messageHash: message },
    ...{ answer: null, startedAt: now, expiresAt },
  };
  const claimed = await orm(db)
    .insert(sends)
    .values({ ...claim, workspaceId: entry.workspaceId, keyHash: key })
    .onConflictDoUpdate({
      target: [sends.workspaceId, sends.keyHash],
      targetWhere: isNotNull(sends.keyHash),
      set: claim,
      setWhere: sql`${sends.answer} is not null and ${sends.expiresAt} <= ${now}`,
    })
    .returning({ messageId: sends.messageId });
  if (claimed.length > 0) return { outcome: 'claimed' };
  const [held] = await orm(db)
    .select({
      messageId: sends.messageId,
      answer: sends.answer,
      same: sql<boolean>`${sends.messageHash} = ${message}`,
    })
    .from(sends)
    .where(and(eq(sends.workspaceId, entry.workspaceId), sql`${sends.keyHash} = ${key}`));
  // Freed in the meantime, so it can be claimed.
  if (held === undefined) return claimSend(db, entry, idempotencyKey, now);
  const { same } = held;
  if (held.answer === null) return { outcome: 'held', messageId: held.messageId, same };
  return { outcome: 'answered', answer: JSON.parse(held.answer), same };
}

/** Frees the key of a send that was refused or failed. [choice.send-key.remembers] */
export async function freeSend(db: Queryable, messageId: string): Promise<void> {
  await orm(db)
    .delete(sends)
    .where(and(eq(sends.messageId, messageId), isNull(sends.answer)));
}

/** Stores the answer under the key; deletes the entry of a send without a key. [choice.send-key.remembers] */
export async function answerSend(db: Queryable, messageId: string, answer: SendMessageAnswer): Promise<void> {
  const isIt = eq(sends.messageId, messageId);
  const kept = await orm(db)
    .update(sends)
    .set({ answer: JSON.stringify(answer), text: null })
    .where(and(isIt, isNotNull(sends.keyHash)))
    .returning({ messageId: sends.messageId });
  if (kept.length === 0) await orm(db).delete(sends).where(isIt);
}

/** Sends without an answer: all, or those with the given ids. Oldest first. */
export async function readUnanswered(db: Queryable, messageIds?: readonly string[]): Promise<JournalEntry[]> {
  const { messageId, workspaceId, connectionId, recipient, text, mediaId, mediaType } = sends;
  const rows = await orm(db)
    .select({ entry: { messageId, workspaceId, connectionId, to: recipient, text }, mediaId, mediaType })
    .from(sends)
    .where(and(isNull(sends.answer), messageIds && isAnyOf(messageId, messageIds)))
    .orderBy(sends.startedAt, messageId);
  return rows.map(({ entry, mediaId: id, mediaType: mimetype }) => ({
    ...entry,
    media: id === null || mimetype === null ? null : { id, mimetype },
  }));
}

const DELETED_AT_ONCE = 10_000;

/** Deletes answers whose keys have expired. */
export async function deleteExpiredSends(db: Queryable, now: number): Promise<void> {
  for (;;) {
    const { messageId, answer, expiresAt } = sends;
    const some = orm(db)
      .select({ messageId })
      .from(sends)
      .where(and(isNotNull(answer), lte(expiresAt, now)))
      .limit(DELETED_AT_ONCE)
      .for('update', { skipLocked: true });
    const deleted = await orm(db).delete(sends).where(inArray(messageId, some)).returning({ messageId });
    if (deleted.length < DELETED_AT_ONCE) return;
  }
}
