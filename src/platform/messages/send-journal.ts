import { createHash } from 'node:crypto';
import { and, eq, gt, lte, sql } from 'drizzle-orm';
import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { sends } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { OutboundMessage } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';

type Message = Omit<OutboundMessage, 'messageId' | 'from' | 'waMessageId'>;

/** The idempotency key of a send, and the message that it belongs to. */
export interface SendKey {
  readonly workspaceId: string;
  readonly keyHash: Buffer;
  readonly messageHash: Uint8Array;
  readonly expiresAt: number;
}

/**
 * Equal for two sends if and only if connection, recipient, text and file (name, type and bytes) are equal.
 * [choice.send-key.other-body]
 */
function hashMessage({ connectionId, to, text, media }: Message): Buffer {
  const file = media && [media.filename, media.mimetype, Buffer.from(media.sha256).toString('hex')];
  return createHash('sha256')
    .update(JSON.stringify([connectionId, to, text, file]))
    .digest();
}

/** Keys are per workspace, and reusable 24 hours after their first use. [choice.send-key.lifetime] */
export function readSendKey(workspaceId: string, key: string, message: Message, now: number): SendKey {
  const keyHash = createHash('sha256').update(key).digest();
  const expiresAt = now + ASSUMPTIONS.sendKeyLifetimeMs.value;
  return { workspaceId, keyHash, messageHash: hashMessage(message), expiresAt };
}

/** Throws `idempotency_key_reuse` for another message than that of the first send. [choice.send-key.other-body] */
export function requireSame({ messageHash }: SendKey, first: Pick<SendKey, 'messageHash'>): void {
  if (Buffer.compare(messageHash, first.messageHash) === 0) return;
  const why = 'the first send with this key was a different message';
  throw new PlatformError('idempotency_key_reuse', { check: 'state', why });
}

/** The refusal of a send while the first one with its key has no answer. */
export function sendInProgress(): PlatformError {
  const retryAfterSeconds = ASSUMPTIONS.sendInProgressRetryAfterSeconds.value;
  const why = 'the first send with this key is in progress';
  // [messages.send.in-progress] [errors.in_progress]
  return new PlatformError('in_progress', { retryAfterSeconds, why });
}

/** The answer that is stored under a key, and the hash of its message; null if there is none. [messages.send.retry] */
export async function findAnswer(
  db: Queryable,
  { workspaceId, keyHash }: SendKey,
  now: number,
): Promise<{ readonly answer: SendMessageAnswer; readonly messageHash: Uint8Array } | null> {
  const { answer, messageHash, expiresAt } = sends;
  const [row] = await orm(db)
    .select({ answer, messageHash })
    .from(sends)
    .where(and(eq(sends.workspaceId, workspaceId), eq(sends.keyHash, keyHash), gt(expiresAt, now)));
  return row === undefined ? null : { ...row, answer: JSON.parse(row.answer) };
}

/**
 * Stores the answer of a send under its key, and deletes expired ones; a repetition changes nothing. Throws `in_progress`
 * if the key has another answer since: of a commit that took effect after it had failed, or of a process that has lost
 * this database. [choice.send-key.remembers]
 */
export async function keepAnswer(
  { tx, now }: Pick<StateChange, 'tx' | 'now'>,
  messageId: string,
  key: SendKey,
  answer: SendMessageAnswer,
): Promise<void> {
  const row = { ...key, messageId, answer: JSON.stringify(answer) };
  await orm(tx).delete(sends).where(lte(sends.expiresAt, now));
  const kept = await orm(tx)
    .insert(sends)
    .values(row)
    .onConflictDoUpdate({
      target: [sends.workspaceId, sends.keyHash],
      set: row,
      setWhere: sql`${sends.messageId} = ${messageId}`,
    })
    .returning({ messageId: sends.messageId });
  if (kept.length === 0) throw sendInProgress();
}
