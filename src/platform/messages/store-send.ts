import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import { orm } from '../../runtime/database/orm.ts';
import { emitsEvents } from '../connections/connection-events.ts';
import { readConnection } from '../connections/read-connections.ts';
import { messages } from '../db/message-tables.ts';
import type { Accepted, PhoneNetwork } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import { stampCreation } from '../workspaces/workspaces.ts';
import { messageStatusTold } from './message-events.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';
import { answerSend, type JournalEntry, sentAnswer } from './send-journal.ts';

/**
 * Stores a message that the network has taken over: the row, its `sent` event, the receipts to come and the
 * answer under its key, all in one change. Doing it again, after a commit whose answer was lost, changes
 * nothing and answers the same. Throws `not_found` when the connection is gone.
 */
export async function storeSend(
  change: StateChange,
  network: PhoneNetwork,
  entry: JournalEntry,
  { waMessageId }: Accepted,
): Promise<SendMessageAnswer> {
  const { messageId, connectionId, workspaceId, to, text, media } = entry;
  const createdAt = await stampCreation(change, workspaceId);
  // Read under the stamp's lock, which a deletion takes as well: nothing is stored for a connection that is gone.
  const connection = await readConnection(change.tx, connectionId, change.now);
  const inserted = await orm(change.tx)
    .insert(messages)
    .values({
      ...{ id: messageId, workspaceId, connectionId, direction: 'outgoing', peer: to, text, waMessageId },
      ...{ mediaId: media?.id, mediaType: media?.mimetype },
      ...{ status: 'sent', receipts: RECEIPT_BITS.sent, createdAt },
    })
    .onConflictDoNothing({ target: messages.id })
    .returning({ id: messages.id });
  const answer = sentAnswer(entry, { messageId, waMessageId });
  await answerSend(change.tx, messageId, answer);
  if (inserted.length === 0) return answer;
  await network.followReceipts(change, { messageId, connectionId, to });
  // [choice.send.sent-event] [events.status.fires]
  if (emitsEvents(connection, createdAt)) {
    await change.recordEvents([
      messageStatusTold(connection, { id: messageId, waMessageId, status: 'sent', at: createdAt }),
    ]);
  }
  return answer;
}
