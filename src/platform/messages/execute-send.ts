import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { emitsEvents } from '../connections/connection-events.ts';
import { readConnection } from '../connections/read-connections.ts';
import { messages } from '../db/message-tables.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Accepted, OutboundMessage, PhoneNetwork } from '../network/network.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import type { WriteGate } from '../time/write-gate.ts';
import { stampCreation } from '../workspaces/workspaces.ts';
import { messageStatusEvent } from './message-events.ts';
import { RECEIPT_BITS } from './receipt-ladder.ts';
import { answerSend, freeSend, type JournalEntry, readUnanswered, sentAnswer } from './send-journal.ts';

/** Port: wraps the storing of each message that the network has accepted. If it throws, the message is not stored. */
export type AroundStore = <Result>(store: () => Promise<Result>) => Promise<Result>;

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly gate: WriteGate;
  readonly network: PhoneNetwork;
  readonly logger: Logger;
  readonly aroundStore?: AroundStore | undefined;
}

/** The irreversible part of a send. */
export interface SendExecutor {
  /**
   * Passes a message to the network; retries once if it is unknown whether the network has it. Throws `send_failed`
   * if `signal` has aborted before: then the network does not have it.
   */
  accept(message: OutboundMessage, signal: AbortSignal): Promise<Accepted>;
  /** Stores a message that the network has. If that fails, the answer is the degraded one. */
  store(entry: JournalEntry, accepted: Accepted): Promise<SendMessageAnswer>;
  /**
   * Ends sends that no process runs: completes those that the network has, and frees the keys of the others.
   * Returns their number.
   */
  completeLost(messageIds?: readonly string[]): Promise<number>;
}

/**
 * Stores a message that the network has accepted: the row, its `sent` event, the receipts to come and the answer under
 * its key, all in one transaction. A repetition, after a commit whose answer was lost, changes nothing and returns the
 * same answer. Throws `not_found` if the connection was deleted.
 */
async function storeSend(
  change: StateChange,
  network: PhoneNetwork,
  entry: JournalEntry,
  { waMessageId }: Accepted,
): Promise<SendMessageAnswer> {
  const { messageId, connectionId, workspaceId, to, text, media } = entry;
  const createdAt = await stampCreation(change, workspaceId);
  // Read under the workspace's lock, which a deletion also takes: nothing is stored for a deleted connection.
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
      messageStatusEvent(connection, { id: messageId, waMessageId, status: 'sent', at: createdAt }),
    ]);
  }
  return answer;
}

export function createSendExecutor(options: Options): SendExecutor {
  const { database, changeState, gate, network, logger, aroundStore = (store) => store() } = options;

  // [messages.send.degraded]
  const answerUnstored = async (
    entry: JournalEntry,
    { waMessageId }: Accepted,
  ): Promise<SendMessageAnswer> => {
    const answer = sentAnswer(entry, { messageId: null, waMessageId });
    await gate.shared(() => answerSend(database, entry.messageId, answer));
    return answer;
  };

  /** Stores the result of a lost send. If its connection was deleted, only the answer is stored. */
  const complete = async (entry: JournalEntry, accepted: Accepted): Promise<void> => {
    try {
      await changeState((change) => storeSend(change, network, entry, accepted));
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'not_found') throw error;
      await answerUnstored(entry, accepted);
    }
  };

  return {
    accept: (message, signal) =>
      retryOnce(() =>
        gate.shared(() => {
          if (signal.aborted) throw new PlatformError('send_failed');
          return network.accept(message);
        }),
      ),

    async store(entry, accepted) {
      try {
        return await retryOnce(() =>
          aroundStore(() => changeState((change) => storeSend(change, network, entry, accepted))),
        );
      } catch (error) {
        logger.error(
          { err: error, messageId: entry.messageId },
          'a message was sent but could not be stored',
        );
        return answerUnstored(entry, accepted);
      }
    },

    async completeLost(messageIds) {
      const entries = await readUnanswered(database, messageIds);
      const accepted = await network.findAccepted(entries.map((entry) => entry.messageId));
      for (const entry of entries) {
        const taken = accepted.get(entry.messageId);
        if (taken === undefined) await freeSend(database, entry.messageId);
        else await complete(entry, taken);
      }
      return entries.length;
    },
  };
}
