import { emitsEvents } from '../connections/connection-events.ts';
import { type Connection, readConnection } from '../connections/read-connections.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaAddress } from '../media/media-address.ts';
import type { MediaReference } from '../media/media-store.ts';
import { newNetworkId } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import { stampCreation } from '../workspaces/workspaces.ts';
import { messageReceived } from './message-events.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';

/** A message that a person writes to a connection. */
export interface IncomingMessage {
  /** An id that was already returned to a caller; default: a new one. */
  readonly id?: string;
  /** Digits of the writer. */
  readonly from: string;
  /** The text, or the caption of the file; null for a file without one. */
  readonly text: string | null;
  /** A stored file. */
  readonly media?: MediaReference;
}

interface Arrival {
  readonly mediaAddress: MediaAddress;
  /** The earliest possible `createdAt` of the messages, virtual epoch ms; default: now. */
  readonly at?: number;
}

/** The text as it can be stored, so that the list, the event and the database have the same text. */
function storableText(text: string): string {
  return text.replaceAll('\0', ASSUMPTIONS.replacedText.value).toWellFormed();
}

interface Stored extends Required<Pick<IncomingMessage, 'id' | 'from' | 'text'>> {
  readonly waMessageId: string;
  readonly media: MediaReference | null;
}

/** Inserts any number of messages. It is SQL, because drizzle would need a parameter for each value. */
export const INSERT_INCOMING = `
  INSERT INTO platform.messages (id, workspace_id, connection_id, direction, peer, text, wa_message_id,
    media_id, media_type, status, receipts, created_at)
  SELECT m.id, $7, $8, 'incoming', m.peer, m.text, m.wa_id, m.media_id, m.media_type, $9, $10, $11
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    WITH ORDINALITY AS m (id, peer, text, wa_id, media_id, media_type, place)
  ORDER BY m.place`;

async function insertIncoming(
  { tx }: StateChange,
  connection: Connection,
  messages: readonly Stored[],
  createdAt: number,
): Promise<void> {
  const status = ASSUMPTIONS.incomingStatus.value;
  await tx.query(INSERT_INCOMING, [
    messages.map((message) => message.id),
    messages.map((message) => message.from),
    messages.map((message) => message.text),
    messages.map((message) => message.waMessageId),
    messages.map((message) => message.media?.id ?? null),
    messages.map((message) => message.media?.mimetype ?? null),
    connection.workspaceId,
    connection.id,
    status,
    RECEIPT_BITS[status],
    createdAt,
  ]);
}

/**
 * Stores messages from people and records their events, in order.
 * Throws `not_found` for an unknown connection and the code of a dead session for one that is not live.
 */
export async function receiveMessages(
  change: StateChange,
  connectionId: string,
  batch: readonly IncomingMessage[],
  { mediaAddress, at = change.now }: Arrival,
): Promise<string[]> {
  const { workspaceId } = await readConnection(change.tx, connectionId, change.now);
  const createdAt = await stampCreation(change, workspaceId, at);
  // Read under the workspace's lock, which a deletion also takes: a deleted connection receives nothing.
  const connection = await readConnection(change.tx, connectionId, change.now);
  if (connection.state !== 'live') throw new PlatformError(ASSUMPTIONS.deadSessionCode.value);
  const messages = batch.map(({ id = newIdentifier(), from, text, media = null }) => ({
    id,
    waMessageId: newNetworkId(),
    from,
    text: text === null ? null : storableText(text),
    media,
  }));
  await insertIncoming(change, connection, messages, createdAt);
  // [events.received.fires] [events.received.inbound-only]
  if (emitsEvents(connection, createdAt)) {
    await change.recordEvents(
      messages.map(({ media, ...message }) =>
        messageReceived(connection, {
          ...message,
          mediaUrl: media === null ? null : mediaAddress(media.id),
          mediaType: media?.mimetype ?? null,
          at: createdAt,
        }),
      ),
    );
  }
  return messages.map((message) => message.id);
}
