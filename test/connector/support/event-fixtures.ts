import { createHmac, randomBytes } from 'node:crypto';
import {
  type ConnectionStateFacts,
  type MessageFacts,
  type RawDelivery,
  WEBHOOK_SEEN,
} from '../../../src/connector/db/facts.ts';
import { messagesAre } from '../../../src/connector/db/message-periods.ts';
import { dropPartition, listPartitions } from '../../../src/connector/db/time-partitions.ts';
import type { MessageStatus } from '../../../src/contract/service/statuses.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { type OpenedDatabase, openTestDatabase, silentLogger } from '../../support/database.ts';
import { ofFile, ofTest } from '../../support/of-file.ts';

export { silentLogger };

/** A database of one test's own with the connector's schema, and a second handle for other processes' writes. */
export function openConnectorDatabase(poolSize?: number): Promise<OpenedDatabase> {
  messagesAre.divided = false;
  return openTestDatabase({ connector: true }, poolSize);
}

/** A database of the connector that the tests of a file share. */
export function databaseOfFile(poolSize?: number): DatabaseWithUrl {
  return ofFile(...withUrl(() => openConnectorDatabase(poolSize)));
}

/** The same, anew for each test and without the days of the inbox. */
export function databaseWithoutDaysOfTest(): DatabaseWithUrl {
  return ofTest(...withUrl(openConnectorDatabaseWithoutDays));
}

type DatabaseWithUrl = Database & { readonly url: string };

function withUrl(open: () => Promise<OpenedDatabase>): [() => Promise<DatabaseWithUrl>, () => Promise<void>] {
  let opened: OpenedDatabase;
  const openWithUrl = async (): Promise<DatabaseWithUrl> => {
    opened = await open();
    return Object.assign(opened.database, { url: opened.url });
  };
  return [openWithUrl, () => opened.close()];
}

/** The same without the partitions that a copy of the template has: only the default ones remain. */
export async function openConnectorDatabaseWithoutDays(): Promise<OpenedDatabase> {
  const opened = await openConnectorDatabase();
  for (const table of ['inbox', 'changes'] as const)
    for (const { name } of await listPartitions(opened.database, table))
      await dropPartition(opened.database, name);
  return opened;
}

/** Forgets everything that was written, so that tests can share a database. Numbers begin at 1 again. */
export async function emptyTables(database: Database): Promise<void> {
  // Deleting no rows takes a fraction of the time of truncating.
  await database.query(
    `WITH messages AS (DELETE FROM connector.messages), expired AS (DELETE FROM connector.expired_messages), connections AS (DELETE FROM connector.connections),
          changes AS (DELETE FROM connector.changes), batches AS (DELETE FROM connector.change_batches),
          inbox AS (DELETE FROM connector.inbox), leases AS (DELETE FROM connector.leases)
     UPDATE connector.feed SET base_seq = 0, cluster = NULL, deleted_seq = 0`,
  );
}

/** An id that no other test uses. */
export function newId(): string {
  return `c${randomBytes(12).toString('hex')}`;
}

export const T0 = Date.UTC(2026, 0, 15, 12);
export const ACCOUNT = 'account-1';

export function received(
  connectionId: string,
  messageId: string,
  changes: Partial<MessageFacts> = {},
): MessageFacts {
  return {
    connectionId,
    messageId,
    accountId: ACCOUNT,
    source: 'webhook',
    direction: 'incoming',
    peer: '15551234567',
    text: 'Hello',
    mediaUrl: null,
    mediaType: null,
    status: null,
    errorMessage: null,
    reference: null,
    waMessageId: null,
    createdAt: T0,
    webhookSeen: WEBHOOK_SEEN.received,
    ...changes,
  };
}

export function status(
  connectionId: string,
  messageId: string,
  reached: MessageStatus,
  at = T0,
  changes: Partial<MessageFacts> = {},
): MessageFacts {
  return {
    ...received(connectionId, messageId),
    direction: 'outgoing',
    peer: null,
    text: null,
    status: reached,
    createdAt: at,
    webhookSeen: WEBHOOK_SEEN[reached],
    ...changes,
  };
}

export function polled(
  connectionId: string,
  messageId: string,
  changes: Partial<MessageFacts> = {},
): MessageFacts {
  return { ...received(connectionId, messageId), source: 'poll', peer: null, webhookSeen: 0, ...changes };
}

export function outage(
  connectionId: string,
  at: number,
  changes: Partial<ConnectionStateFacts> = {},
): ConnectionStateFacts {
  return {
    connectionId,
    accountId: ACCOUNT,
    event: 'connection.disconnected',
    at,
    phoneNumber: '4917012345678',
    label: 'Front desk',
    status: 'disconnected',
    needsReconnect: true,
    licenseStatus: 'active',
    licenseExpires: T0 + 86_400_000,
    reason: 'AUTH_LOST',
    ...changes,
  };
}

export function recovery(connectionId: string, at: number): ConnectionStateFacts {
  return outage(connectionId, at, {
    event: 'connection.connected',
    status: 'connected',
    needsReconnect: false,
    reason: null,
  });
}

/** A verified delivery that tells `message` or `connection`. */
export function delivery(
  told: { message: MessageFacts } | { connection: ConnectionStateFacts },
  changes: Partial<RawDelivery> = {},
): RawDelivery {
  const facts = 'message' in told ? told.message : told.connection;
  return {
    subscriptionId: 'subscription-1',
    accountId: facts.accountId,
    receivedAt: T0,
    signedAt: T0,
    body: Buffer.from(JSON.stringify({ event: 'test' })),
    event: 'message' in told ? 'message.received' : told.connection.event,
    ...told,
    ...changes,
  };
}

/** The two headers of a delivery, signed as the service does. */
export function signHeaders(
  body: Uint8Array | string,
  secret: string,
  timestamp: number | string,
): Record<string, string> {
  const hex = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  return { 'X-Service-Timestamp': String(timestamp), 'X-Service-Signature': `sha256=${hex}` };
}

export interface FeedRow {
  readonly seq: number | null;
  readonly type: string;
  readonly message_id: string | null;
  readonly connection_id: string;
  readonly data: Record<string, unknown>;
}

interface StoredRow extends FeedRow {
  readonly status: MessageStatus | null;
  readonly previous_status: MessageStatus | null;
  readonly direction: string | null;
  readonly peer: string | null;
  readonly text: string | null;
  readonly created_at: number | null;
  readonly first_seen_by: string | null;
}

/** All changes, numbered and not, in the order of their making. */
export async function readAllChanges(database: Database): Promise<FeedRow[]> {
  const rows = await database.query<StoredRow>(
    `SELECT c.*, b.last_seq - b.size + c.position AS seq
       FROM connector.changes c JOIN connector.change_batches b ON b.id = c.batch ORDER BY c.batch, c.position`,
  );
  return rows.map((row) => {
    const { seq, type, message_id, connection_id, status, direction, peer, text } = row;
    const whole = {
      direction,
      peer,
      text,
      status,
      createdAt: row.created_at,
      firstSeenBy: row.first_seen_by,
    };
    const told = type === 'message.status' ? { status, previous: row.previous_status } : whole;
    return { seq, type, message_id, connection_id, data: message_id === null ? row.data : told };
  });
}

export interface LogRow {
  readonly event: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly change_mask: number;
  readonly body: Buffer;
  readonly message_id: string | null;
}

/** The raw log in the order of receipt. */
export function readLog(database: Database): Promise<LogRow[]> {
  return database.query<LogRow>(
    'SELECT event, outcome, reason, change_mask, body, message_id FROM connector.inbox ORDER BY id',
  );
}

export interface MessageRow {
  readonly id: string;
  readonly connection_id: string;
  readonly account_id: string;
  readonly direction: string;
  readonly peer: string | null;
  readonly text: string | null;
  readonly media_url: string | null;
  readonly status: MessageStatus | null;
  readonly previous_status: MessageStatus | null;
  readonly created_at: number;
  readonly first_seen_by: string;
  readonly polled: boolean;
  readonly webhook_seen: number;
  readonly status_conflict: boolean;
  readonly change_mask: number;
  readonly webhook_at: number | null;
}

export function readMessages(database: Database): Promise<MessageRow[]> {
  return database.query<MessageRow>('SELECT * FROM connector.messages ORDER BY connection_id, id');
}
