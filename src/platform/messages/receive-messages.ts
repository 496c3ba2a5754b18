import { ASSUMPTIONS } from '../assumptions.ts';
import { type Connection, readConnection } from '../connections/read-connections.ts';
import { stampCreation } from '../connections/workspaces.ts';
import { newIdentifier } from '../identifiers.ts';
import { newNetworkId } from '../network/network-id.ts';
import { PlatformError } from '../platform-error.ts';
import type { StateChange } from '../state-change.ts';
import { emitsEvents, messageReceived } from './message-events.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';

/** A message that a person writes to a connection. */
export interface IncomingMessage {
  /** Taken beforehand where somebody was told it; default: a new one. */
  readonly id?: string;
  /** Digits of the writer. */
  readonly from: string;
  readonly text: string;
}

/** Text as the service can store and tell it: the same in the list, in the event and in the database. */
function storableText(text: string): string {
  return text.replaceAll('\0', ASSUMPTIONS.replacedText.value).toWellFormed();
}

interface Stored extends IncomingMessage {
  readonly id: string;
  readonly waMessageId: string;
}

async function insertIncoming(
  { tx }: StateChange,
  connection: Connection,
  messages: readonly Stored[],
  createdAt: number,
): Promise<void> {
  const status = ASSUMPTIONS.incomingStatus.value;
  await tx.query(
    `INSERT INTO platform.messages
       (id, workspace_id, connection_id, direction, peer, text, wa_message_id, status, receipts, created_at)
     SELECT m.id, $5, $6, 'incoming', m.peer, m.text, m.wa_id, $7, $8, $9
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS m (id, peer, text, wa_id, place)
     ORDER BY m.place`,
    [
      messages.map((message) => message.id),
      messages.map((message) => message.from),
      messages.map((message) => message.text),
      messages.map((message) => message.waMessageId),
      connection.workspaceId,
      connection.id,
      status,
      RECEIPT_BITS[status],
      createdAt,
    ],
  );
}

/**
 * Stores messages from people and tells them, in their order. `at` is the earliest time they can bear.
 * Throws `not_found` for an unknown connection and the code of a dead session for one that is not live.
 */
export async function receiveMessages(
  change: StateChange,
  connectionId: string,
  batch: readonly IncomingMessage[],
  at: number = change.now,
): Promise<string[]> {
  const connection = await readConnection(change.tx, connectionId, change.now);
  if (connection.state !== 'live') throw new PlatformError(ASSUMPTIONS.deadSessionCode.value);
  const createdAt = await stampCreation(change, connection.workspaceId, at);
  const messages = batch.map(({ id = newIdentifier(), from, text }) => ({
    id,
    waMessageId: newNetworkId(),
    from,
    text: storableText(text),
  }));
  await insertIncoming(change, connection, messages, createdAt);
  if (emitsEvents(connection, createdAt)) {
    await change.recordEvents(
      messages.map((message) => messageReceived(connection, { ...message, at: createdAt })),
    );
  }
  return messages.map((message) => message.id);
}
