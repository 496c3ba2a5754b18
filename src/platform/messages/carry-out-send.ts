import type { SendMessageAnswer } from '../../contract/service/messages.ts';
import type { Database } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Accepted, OutboundMessage, PhoneNetwork } from '../network/network.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WriteGate } from '../time/write-gate.ts';
import { answerSend, freeSend, type JournalEntry, readUnanswered, sentAnswer } from './send-journal.ts';
import { storeSend } from './store-send.ts';

/** Port: stands around the storing of each message that the network has. What it throws leaves the message unstored. */
export type AroundStore = <Result>(store: () => Promise<Result>) => Promise<Result>;

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly gate: WriteGate;
  readonly network: PhoneNetwork;
  readonly logger: Logger;
  readonly aroundStore?: AroundStore | undefined;
}

/** The part of a send from which there is no way back. */
export interface SendCarrier {
  /**
   * Hands a message to the network; asks again, once, when it is not known whether the network has it.
   * Throws `send_failed` when `signal` has aborted before: then the network has not heard of it.
   */
  accept(message: OutboundMessage, signal: AbortSignal): Promise<Accepted>;
  /** Stores what the network has. Where that fails the answer is the degraded one: it was sent all the same. */
  store(entry: JournalEntry, accepted: Accepted): Promise<SendMessageAnswer>;
  /**
   * Ends sends whose process is gone, or lost its way: completes those that the network has, frees the keys
   * of the others. Answers how many there were.
   */
  clearUp(messageIds?: readonly string[]): Promise<number>;
}

export function createSendCarrier(options: Options): SendCarrier {
  const { database, changeState, gate, network, logger, aroundStore = (store) => store() } = options;

  // [messages.send.degraded]
  const leaveUnstored = async (
    entry: JournalEntry,
    { waMessageId }: Accepted,
  ): Promise<SendMessageAnswer> => {
    const answer = sentAnswer(entry, { messageId: null, waMessageId });
    await gate.shared(() => answerSend(database, entry.messageId, answer));
    return answer;
  };

  /** Stores what a lost send came to; where its connection is gone it was sent all the same. */
  const complete = async (entry: JournalEntry, accepted: Accepted): Promise<void> => {
    try {
      await changeState((change) => storeSend(change, network, entry, accepted));
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'not_found') throw error;
      await leaveUnstored(entry, accepted);
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
        return leaveUnstored(entry, accepted);
      }
    },

    async clearUp(messageIds) {
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
