import type { Queryable } from '../../runtime/database/database.ts';
import { findReachable, requireLicence } from '../connections/read-connections.ts';
import type { Credential } from '../credentials/credential.ts';
import { isIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';

/** What to mark as read. `messageId` wins over `phone`; one of them is given. */
export interface ReadReceipt {
  readonly connectionId: string;
  /** Digits of the person. */
  readonly phone: string | null;
  /** Id of an incoming message. */
  readonly messageId: string | null;
}

interface Inbound {
  readonly id: string;
  readonly peer: string;
}

/**
 * Throws `not_found` for an unknown message, one of another connection and an outgoing one alike.
 * [messages.read.incoming] [messages.read.no-network-id] [choice.marked.unknown]
 */
async function findInbound(db: Queryable, connectionId: string, messageId: string): Promise<Inbound> {
  const [found] = isIdentifier(messageId)
    ? await db.query<Inbound>(
        `SELECT id, peer FROM platform.messages
         WHERE id = $1 AND connection_id = $2 AND direction = 'incoming'`,
        [messageId, connectionId],
      )
    : [];
  if (found === undefined) {
    throw new PlatformError('not_found', { why: 'the connection has no incoming message with this id' });
  }
  return found;
}

// [messages.read.cloud-api-phone]
async function findLatest(db: Queryable, connectionId: string, phone: string): Promise<Inbound | null> {
  const [found] = await db.query<Inbound>(
    `SELECT id, peer FROM platform.messages
     WHERE connection_id = $1 AND peer = $2 AND direction = 'incoming' ORDER BY position DESC LIMIT 1`,
    [connectionId, phone],
  );
  return found ?? null;
}

/**
 * Marks what is not read yet; answers how many that were. Rows are locked in one order.
 * [messages.read.idempotent] [choice.marked]
 */
async function markUnread(db: Queryable, condition: string, params: readonly unknown[]): Promise<number> {
  const [marked] = await db.query<{ count: number }>(
    `WITH unread AS (
       SELECT id FROM platform.messages
       WHERE ${condition} AND direction = 'incoming' AND status <> 'read' ORDER BY position FOR UPDATE),
     marked AS (
       UPDATE platform.messages m SET status = 'read', receipts = m.receipts | ${RECEIPT_BITS.read}
       FROM unread WHERE m.id = unread.id RETURNING 1)
     SELECT count(*)::int AS count FROM marked`,
    params,
  );
  return marked?.count ?? 0;
}

/**
 * Marks incoming messages as read and answers how many became so by this call. A `qr` connection marks the whole
 * chat, a `cloud_api` one a single message: the given one, or the latest of that person. Asking again changes
 * nothing. Throws `not_found` and the 402s. [messages.read.no-rate-limit] [limits.read-receipts]
 */
export async function markRead(
  { changeState, database }: { readonly changeState: ChangeState; readonly database: Queryable },
  credential: Credential,
  { connectionId, phone, messageId }: ReadReceipt,
  now: number,
): Promise<number> {
  const connection = await findReachable(database, credential, connectionId, now);
  const named = messageId === null ? null : await findInbound(database, connectionId, messageId);
  requireLicence(connection); // [choice.unlicensed.refused]
  return changeState(async ({ tx }) => {
    const peer = named?.peer ?? phone; // [messages.read.message-wins]
    if (peer === null) throw new PlatformError('invalid_request', { field: 'messageId' });
    // [messages.read.qr-chat]
    if (connection.provider === 'qr') {
      return markUnread(tx, 'connection_id = $1 AND peer = $2', [connectionId, peer]);
    }
    // [messages.read.cloud-api-one]
    const one = named ?? (await findLatest(tx, connectionId, peer));
    return one === null ? 0 : markUnread(tx, 'id = $1', [one.id]);
  });
}
