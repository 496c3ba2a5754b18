import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import { orm } from '../../runtime/database/orm.ts';
import { emitsEvents } from '../connections/connection-events.ts';
import { readConnection } from '../connections/read-connections.ts';
import { messages } from '../db/message-tables.ts';
import type { OutboundMessage, PhoneNetwork } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import { stampCreation } from '../workspaces/workspaces.ts';
import { finishHealing } from './check-session.ts';
import { messageStatusEvent } from './message-events.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';
import { keepAnswer, type SendKey } from './send-journal.ts';

/** Port: whether the message that the network accepts next is stored as well. */
export type IsStored = () => boolean;

/** The answer to a send that the network accepted. The answer for a file contains the network id twice. */
function sentAnswer(
  { messageId, waMessageId, media }: OutboundMessage,
  isStored: boolean,
): SendMessageAnswer {
  return {
    messageId: isStored ? messageId : null,
    waMessageId,
    status: 'sent',
    // [messages.send.degraded]
    ...(isStored ? {} : { persisted: false }),
    // [messages.send.wa-media] [choice.wa-ids]
    ...(media === null ? {} : { wa_message_id: waMessageId }),
  };
}

/**
 * Passes a message to the network and stores it: the row, its `sent` event, the receipts to come and the answer under
 * its key, all in one transaction. A repetition, after a commit whose answer was lost, changes nothing and returns the
 * same answer. Throws `not_found` if the connection was deleted, the code of a dead session if the session ended, and
 * `in_progress` if the key was answered meanwhile.
 */
export async function executeSend(
  change: StateChange,
  network: PhoneNetwork,
  message: OutboundMessage & { readonly workspaceId: string; readonly key: SendKey | null },
  isStored: boolean,
): Promise<SendMessageAnswer> {
  const { key, messageId, connectionId, workspaceId, to, text, media, waMessageId } = message;
  const createdAt = await stampCreation(change, workspaceId);
  // Read under the workspace's lock, which a deletion also takes: nothing is stored for a deleted connection.
  const connection = await readConnection(change.tx, connectionId, change.now);
  const answer = sentAnswer(message, isStored);
  if (key !== null) await keepAnswer(change, messageId, key, answer);
  // A logout or an outage may have ended the session since it was checked. A repetition was sent while it worked.
  if (await network.accept(change, message)) await finishHealing(change, network.sessions, connectionId);
  if (!isStored) return answer;
  const inserted = await orm(change.tx)
    .insert(messages)
    .values({
      ...{ id: messageId, workspaceId, connectionId, direction: 'outgoing', peer: to, text, waMessageId },
      ...{ mediaId: media?.id, mediaType: media?.mimetype },
      ...{ status: 'sent', receipts: RECEIPT_BITS.sent, createdAt },
    })
    .onConflictDoNothing({ target: messages.id })
    .returning({ id: messages.id });
  if (inserted.length === 0) return answer;
  await network.followReceipts(change, { messageId, connectionId, to });
  // [choice.send.sent-event] [events.status.fires]
  if (emitsEvents(connection, createdAt)) {
    await change.recordEvents([
      messageStatusEvent(connection, { id: messageId, waMessageId, status: 'sent', at: createdAt }),
    ]);
  }
  return answer;
}
