import { randomBytes } from 'node:crypto';
import type { OutageCause } from '../../contract/sandbox/connections.ts';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
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

/** How a connection's session really stands, whatever the service shows. */
export interface NetworkSession {
  /** Messages pass, in both directions. */
  readonly alive: boolean;
  /** The network still knows the session: it can go on without a new pairing. */
  readonly credentials: boolean;
  /** The owner's phone is switched on. */
  readonly phoneOn: boolean;
  /** Digits of the people whom the owner has blocked. */
  readonly blocked: readonly string[];
  /** Why it is not alive; null when it is, or when nobody paired or the owner logged out. */
  readonly cause: OutageCause | null;
  /** An automatic heal of this outage will succeed. */
  readonly heals: boolean;
  /** Names the outage that goes on; null without one. */
  readonly outageId: string | null;
}

/** How a session breaks. */
export interface Break {
  readonly cause: OutageCause;
  readonly outageId: string;
  /** An automatic heal will succeed. */
  readonly heals: boolean;
  readonly keepsCredentials: boolean;
}

/** The phone that a connection is paired with. */
export interface OwnerPhone {
  readonly on: boolean;
  /** Digits of the people whom the owner has blocked. */
  readonly blocked: readonly string[];
}

/** Sessions on the network. Each call is part of a change of state. */
export interface NetworkSessions {
  /**
   * The session works from now on, with credentials: a phone paired, a restart took it up again, or an
   * outage is over. Ends an outage if there is one; what the network kept for the number follows.
   */
  open(change: StateChange, connectionId: string): Promise<void>;
  /** Logged out, or given up for a new pairing: no session, no credentials, and no outage any more. */
  end(change: StateChange, connectionId: string): Promise<void>;
  read(db: Queryable, connectionId: string): Promise<NetworkSession>;
  /** The causes of outages that go on, by connection. */
  readCauses(db: Queryable, connectionIds: readonly string[]): Promise<Map<string, OutageCause>>;
  /** The same under its row lock, held to the end of the transaction. */
  lock(change: StateChange, connectionId: string): Promise<NetworkSession>;
  /** Breaks a session. The service does not notice by itself. */
  break(change: StateChange, connectionId: string, broken: Break): Promise<void>;
  /** Switches the owner's phone, and says whom it blocks. A connection that no phone came near may have one too. */
  setPhone(change: StateChange, connectionId: string, phone: OwnerPhone): Promise<void>;
}

/** The phone network as the service sees it. What it reports back comes through `NetworkReports`. */
export interface PhoneNetwork {
  readonly sessions: NetworkSessions;
  /** Whether a number has an account on the network. */
  isRegistered(phone: string): Promise<boolean>;
  /** Takes a message over; once this resolves the phone will get it, whatever becomes of the service. */
  accept(message: OutboundMessage): Promise<Accepted>;
  /** Which of these messages the network has taken over. */
  findAccepted(messageIds: readonly string[]): Promise<Map<string, Accepted>>;
  /** Asks for the receipts of a message, in the transaction that stores it, so that none comes too early. */
  followReceipts(change: StateChange, message: FollowedMessage): Promise<void>;
  /** What of the messages that people write to a connection reaches it now; the network keeps or drops the others. */
  passInbound<Message extends Omit<InboundMessage, 'connectionId' | 'at'>>(
    change: StateChange,
    connectionId: string,
    messages: readonly Message[],
  ): Promise<readonly Message[]>;
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

/** An id as the network gives it: a fixed head and 16 upper-case hex digits. For debugging only. */
export function newNetworkId(): string {
  return `3EB0${randomBytes(8).toString('hex').toUpperCase()}`;
}
