import type { MessageStatus } from '../../contract/service/statuses.ts';
import { newIdentifier } from '../identifiers.ts';
import { passInbound } from '../network/hold-reports.ts';
import type { NetworkReports } from '../network/network.ts';
import { PlatformError } from '../platform-error.ts';
import type { ChangeState } from '../state-change.ts';
import { applyReceipts } from './apply-receipts.ts';
import { type IncomingMessage, receiveMessages } from './receive-messages.ts';

/** Messages, as the network and people outside the API move them. */
export interface Messages {
  /**
   * A person writes to a connection. While its session does not work the message comes later, under the id
   * that is answered; what a blocked person writes never does. Throws `not_found` for an unknown connection,
   * `send_failed` for one whose number never paired.
   */
  receive(connectionId: string, message: IncomingMessage): Promise<{ messageId: string }>;
  /** The same for many at once, in one transaction and in this order. Answers the ids in the same order. */
  receiveMany(connectionId: string, batch: readonly IncomingMessage[]): Promise<string[]>;
  /**
   * Moves one outgoing message by hand, by the rules of the ladder. `changed` is false when the move told
   * nothing new. Throws `not_found` for an unknown or incoming message.
   */
  setStatus(messageId: string, status: MessageStatus): Promise<{ changed: boolean; status: MessageStatus }>;
}

export function createMessages(changeState: ChangeState): Messages {
  const receiveMany: Messages['receiveMany'] = (connectionId, batch) =>
    changeState(async (change) => {
      const written = batch.map((message) => ({ id: newIdentifier(), ...message }));
      const arriving = await passInbound(change, connectionId, written);
      if (arriving.length > 0) await receiveMessages(change, connectionId, arriving);
      return written.map(({ id }) => id);
    });

  return {
    receiveMany,

    async receive(connectionId, message) {
      const [messageId] = await receiveMany(connectionId, [message]);
      if (messageId === undefined) throw new PlatformError('internal_error');
      return { messageId };
    },

    setStatus: (messageId, status) =>
      changeState(async (change) => {
        const standings = await applyReceipts(change, [
          { messageId, status, at: change.now, reportedAt: change.now },
        ]);
        const standing = standings.get(messageId);
        if (standing === undefined) throw new PlatformError('not_found');
        return standing;
      }),
  };
}

/** What the network reports becomes a change of messages. */
export const networkReports: NetworkReports = {
  async receipts(change, receipts) {
    await applyReceipts(change, receipts);
  },

  async inbound(change, { connectionId, at, ...message }) {
    try {
      await receiveMessages(change, connectionId, [message], at);
    } catch (error) {
      // A connection that is gone or broken by then gets nothing, and the person is not told.
      if (!(error instanceof PlatformError)) throw error;
    }
  },
};
