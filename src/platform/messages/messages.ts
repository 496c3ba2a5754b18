import type { MessageStatus } from '../../contract/service/statuses.ts';

/** A message that a person writes to a connection. */
export interface IncomingMessage {
  /** Digits of the writer. */
  readonly from: string;
  readonly text: string;
}

/** Messages, as the network and people outside the API move them. */
export interface Messages {
  /**
   * A person writes to a connection. Throws `not_found` for an unknown connection. A connection whose
   * session is not live gets nothing: `send_failed`.
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

/** The pace of sends. */
export interface SendTiming {
  /** 1 is the service's real latency, 0 none. */
  readonly sendScale: number;
  setSendScale(scale: number): void;
}
