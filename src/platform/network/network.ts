import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { MediaFile, MediaReference } from '../media/media-file.ts';
import type { StateChange } from '../time/state-change.ts';

/** A message on its way to a phone. */
export interface OutboundMessage {
  /** The service's id; the network takes a message over once, however often it is asked to. */
  readonly messageId: string;
  readonly connectionId: string;
  /** Digits of the connection's number. */
  readonly from: string;
  /** Digits of the recipient. */
  readonly to: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  readonly media: MediaFile | null;
}

/** What the receipts of a message depend on. */
export type FollowedMessage = Pick<OutboundMessage, 'messageId' | 'connectionId' | 'to'>;

/** What the network answers on taking a message over. */
export interface Accepted {
  /** The network's own id; null where it gave none. */
  readonly waMessageId: string | null;
}

/** The phone network as the service sees it. What it reports back comes through `NetworkReports`. */
export interface PhoneNetwork {
  /** Whether a number has an account on the network. */
  isRegistered(phone: string): Promise<boolean>;
  /** Takes a message over; once this resolves the phone will get it, whatever becomes of the service. */
  accept(message: OutboundMessage): Promise<Accepted>;
  /** Which of these messages the network has taken over. */
  findAccepted(messageIds: readonly string[]): Promise<Map<string, Accepted>>;
  /** Asks for the receipts of a message, in the transaction that stores it, so that none comes too early. */
  followReceipts(change: StateChange, message: FollowedMessage): Promise<void>;
}

/** What became of an outgoing message, told by the network. */
export interface Receipt {
  readonly messageId: string;
  readonly status: MessageStatus;
  /** When it happened, virtual epoch ms. */
  readonly at: number;
  /** When the service hears of it; never before it happened. */
  readonly reportedAt: number;
}

/** A message from a person. */
export interface InboundMessage {
  /** Taken beforehand where somebody was told it; default: a new one. */
  readonly id?: string;
  readonly connectionId: string;
  readonly from: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  /** A file that is stored already. */
  readonly media?: MediaReference;
  /** When it was written, virtual epoch ms. */
  readonly at: number;
}

/** How the network reports to the service: in a change of state, since a report is one. */
export interface NetworkReports {
  receipts(change: StateChange, receipts: readonly Receipt[]): Promise<void>;
  inbound(change: StateChange, message: InboundMessage): Promise<void>;
}
