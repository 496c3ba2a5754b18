import { and, desc, eq, inArray, ne, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { findReachable, requireLicense } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { messages } from '../db/message-tables.ts';
import { concerned } from '../kernel/decision-trace.ts';
import { isIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';

/** What to mark as read. At least one of `messageId` and `phone` is not null; `messageId` has priority. */
export interface ReadReceipt {
  readonly connectionId: string;
  /** Digits of the person. */
  readonly phone: string | null;
  /** Id of an incoming message. */
  readonly messageId: string | null;
}

const { id, peer, position, status, receipts } = messages;
/** A literal, so that Postgres uses the partial index of chats. */
const isIncoming = sql`${messages.direction} = 'incoming'`;

interface Inbound {
  readonly id: string;
  readonly peer: string;
}

/**
 * Throws `not_found` for an unknown message, one of another connection, or an outgoing one.
 * [messages.read.incoming] [messages.read.no-network-id] [choice.marked.unknown]
 */
async function findInbound(db: Queryable, connectionId: string, messageId: string): Promise<Inbound> {
  const [found] = isIdentifier(messageId)
    ? await orm(db)
        .select({ id, peer })
        .from(messages)
        .where(and(eq(id, messageId), eq(messages.connectionId, connectionId), isIncoming))
    : [];
  if (found === undefined) {
    throw new PlatformError('not_found', { why: 'the connection has no incoming message with this id' });
  }
  return found;
}

// [messages.read.cloud-api-phone]
async function findLatest(db: Queryable, connectionId: string, phone: string): Promise<Inbound | null> {
  const [found] = await orm(db)
    .select({ id, peer })
    .from(messages)
    .where(and(eq(messages.connectionId, connectionId), eq(peer, phone), isIncoming))
    .orderBy(desc(position))
    .limit(1);
  return found ?? null;
}

/**
 * Marks what is not read yet; answers the ids of those. Rows are locked in one order.
 * [messages.read.idempotent] [choice.marked]
 */
async function markUnread(db: Queryable, which: SQL | undefined): Promise<string[]> {
  const unread = orm(db)
    .select({ id })
    .from(messages)
    .where(and(which, isIncoming, ne(status, 'read')))
    .orderBy(position)
    .for('update');
  const marked = await orm(db)
    .update(messages)
    .set({ status: 'read', receipts: sql`${receipts} | ${RECEIPT_BITS.read}` })
    .where(inArray(id, unread))
    .returning({ id });
  return marked.map((row) => row.id);
}

/**
 * Marks incoming messages as read and returns how many were unread before. A `qr` connection marks the whole chat, a
 * `cloud_api` connection one message: the given one, or the latest from the phone. A repetition changes nothing.
 * Throws `not_found` and the 402s. [messages.read.no-rate-limit] [limits.read-receipts]
 */
export async function markRead(
  { changeState, database }: { readonly changeState: ChangeState; readonly database: Queryable },
  credential: Credential,
  { connectionId, phone, messageId }: ReadReceipt,
  now: number,
): Promise<number> {
  const connection = await findReachable(database, credential, connectionId, now);
  requireLicense(connection); // [choice.unlicensed.refused]
  const named = messageId === null ? null : await findInbound(database, connectionId, messageId);
  const marked = await changeState(async ({ tx }) => {
    const person = named?.peer ?? phone; // [messages.read.message-wins]
    if (person === null) throw new PlatformError('invalid_request', { field: 'messageId' });
    // [messages.read.qr-chat]
    if (connection.provider === 'qr') {
      return markUnread(tx, and(eq(messages.connectionId, connectionId), eq(peer, person)));
    }
    // [messages.read.cloud-api-one]
    const one = named ?? (await findLatest(tx, connectionId, person));
    return one === null ? [] : markUnread(tx, eq(id, one.id));
  });
  // The message that was named comes first: a chat may have more than are recorded.
  concerned({ messageIds: [...new Set([...(named === null ? [] : [named.id]), ...marked])] });
  return marked.length;
}
