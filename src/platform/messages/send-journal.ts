import { createHash } from 'node:crypto';
import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { sends } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { OutboundMessage } from '../network/network.ts';

/** A send that claims its key. */
export interface SendClaim extends Omit<OutboundMessage, 'from' | 'waMessageId'> {
  readonly workspaceId: string;
}

/** The result of a claim. */
export type Claim =
  | { readonly outcome: 'claimed' }
  /** The first send with this key has no answer yet. `same`: connection, recipient and content are equal. */
  | { readonly outcome: 'held'; readonly same: boolean }
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
 * hours after the claim, but not while they are held. [messages.send.retry] [choice.send-key.lifetime]
 */
export async function claimSend(
  db: Queryable,
  send: SendClaim,
  idempotencyKey: string,
  now: number,
): Promise<Claim> {
  const { messageId, workspaceId } = send;
  const keyHash = createHash('sha256').update(idempotencyKey).digest();
  const messageHash = hashMessage(send);
  const expiresAt = now + ASSUMPTIONS.sendKeyLifetimeMs.value;
  const claim = { messageId, messageHash, answer: null, expiresAt };
  const claimed = await orm(db)
    .insert(sends)
    .values({ ...claim, workspaceId, keyHash })
    .onConflictDoUpdate({
      target: [sends.workspaceId, sends.keyHash],
      set: claim,
      setWhere: sql`${sends.answer} is not null and ${sends.expiresAt} <= ${now}`,
    })
    .returning({ messageId: sends.messageId });
  if (claimed.length > 0) return { outcome: 'claimed' };
  const [held] = await orm(db)
    .select({ answer: sends.answer, same: sql<boolean>`${sends.messageHash} = ${messageHash}` })
    .from(sends)
    .where(and(eq(sends.workspaceId, workspaceId), sql`${sends.keyHash} = ${keyHash}`));
  // Freed in the meantime, so it can be claimed.
  if (held === undefined) return claimSend(db, send, idempotencyKey, now);
  const { same } = held;
  if (held.answer === null) return { outcome: 'held', same };
  return { outcome: 'answered', answer: JSON.parse(held.answer), same };
}

/** Frees the key of a send that was refused or failed. [choice.send-key.remembers] */
export async function freeSend(db: Queryable, messageId: string): Promise<void> {
  await orm(db)
    .delete(sends)
    .where(and(eq(sends.messageId, messageId), isNull(sends.answer)));
}

/** Stores the answer under the key of a send, if it has one. [choice.send-key.remembers] */
export async function answerSend(db: Queryable, messageId: string, answer: SendMessageAnswer): Promise<void> {
  await orm(db)
    .update(sends)
    .set({ answer: JSON.stringify(answer) })
    .where(eq(sends.messageId, messageId));
}

/** Deletes answers whose keys have expired. `atStart`: also frees the keys of sends whose process has ended. */
export async function deleteExpiredSends(db: Queryable, now: number, atStart = false): Promise<void> {
  const isOver = and(lte(sends.expiresAt, now), sql`${sends.answer} is not null`);
  await orm(db)
    .delete(sends)
    .where(atStart ? or(isOver, isNull(sends.answer)) : isOver);
}
