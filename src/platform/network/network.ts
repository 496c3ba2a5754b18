import { randomBytes } from 'node:crypto';
import type { OutageCause } from '../../contract/sandbox/connections.ts';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { MediaFile, MediaReference } from '../media/media-store.ts';
import type { StateChange } from '../time/state-change.ts';

/** A message to a phone. */
export interface OutboundMessage {
  /** The service's id. The network accepts a message only once per id. */
  readonly messageId: string;
  readonly connectionId: string;
  /** Digits of the connection's number. */
  readonly from: string;
  /** Digits of the recipient. */
  readonly to: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  readonly media: MediaFile | null;
  /** The id that the network gives it. */
  readonly waMessageId: string;
}

/** The fields of a message on which its receipts depend. */
export type FollowedMessage = Pick<OutboundMessage, 'messageId' | 'connectionId' | 'to'>;

/** The actual state of a connection's session, which may differ from what the service shows. */
export interface NetworkSession {
  /** Messages pass in both directions. */
  readonly alive: boolean;
  /** The network still knows the session, so it can resume without pairing. */
  readonly credentials: boolean;
  /** The owner's phone is switched on. */
  readonly phoneOn: boolean;
  /** Phone numbers that the owner has blocked, digits only. */
  readonly blocked: readonly string[];
  /** Why it is not alive; null if it is alive, was never paired or was logged out. */
  readonly cause: OutageCause | null;
  /** An automatic heal of this outage will succeed. */
  readonly heals: boolean;
  /** Identifies the present outage; null without one. */
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
  /** Phone numbers that the owner has blocked, digits only. */
  readonly blocked: readonly string[];
}

/** Sessions on the network. Each call is part of a state change. */
export interface NetworkSessions {
  /**
   * Makes the session work, with credentials: a phone paired, a restart resumed it, or an outage ended. Ends the
   * present outage, if any. The network then reports what it kept for the number.
   */
  open(change: StateChange, connectionId: string): Promise<void>;
  /** Removes session, credentials and outage, at a logout or before a new pairing. */
  end(change: StateChange, connectionId: string): Promise<void>;
  read(db: Queryable, connectionId: string): Promise<NetworkSession>;
  /** The causes of outages that go on, by connection. */
  readCauses(db: Queryable, connectionIds: readonly string[]): Promise<Map<string, OutageCause>>;
  /** The same, and locks the row until the end of the transaction. */
  lock(change: StateChange, connectionId: string): Promise<NetworkSession>;
  /** Breaks a session. The service is not notified. */
  break(change: StateChange, connectionId: string, broken: Break): Promise<void>;
  /** Turns the owner's phone on or off and sets its blocked contacts; also for a connection that never paired. */
  setPhone(change: StateChange, connectionId: string, phone: OwnerPhone): Promise<void>;
}

/** Port: the phone network. It reports back through `NetworkReports`. */
export interface PhoneNetwork {
  readonly sessions: NetworkSessions;
  /** Whether a number has an account on the network. */
  isRegistered(phone: string): Promise<boolean>;
  /** Accepts a message: the phone receives it with the commit. Returns false if it was accepted before. */
  accept(change: StateChange, message: OutboundMessage): Promise<boolean>;
  /** Subscribes to the receipts of a message, in the transaction that stores it, so that none arrives before. */
  followReceipts(change: StateChange, message: FollowedMessage): Promise<void>;
  /** Returns the messages to a connection that reach it now; the network keeps or drops the others. */
  passInbound<Message extends Omit<InboundMessage, 'connectionId' | 'at'>>(
    change: StateChange,
    connectionId: string,
    messages: readonly Message[],
  ): Promise<readonly Message[]>;
}

/** A report of the network about an outgoing message. */
export interface Receipt {
  readonly messageId: string;
  readonly status: MessageStatus;
  /** When it happened, virtual epoch ms. */
  readonly at: number;
  /** When it is reported to the service, never before `at`. */
  readonly reportedAt: number;
}

/** A message from a person. */
export interface InboundMessage {
  /** An id that was already returned to a caller; default: a new one. */
  readonly id?: string;
  readonly connectionId: string;
  readonly from: string;
  /** The text, or the caption of the file. */
  readonly text: string | null;
  /** A stored file. */
  readonly media?: MediaReference;
  /** When it was written, virtual epoch ms. */
  readonly at: number;
}

/** Port: reports of the network to the service. Each is part of a state change. */
export interface NetworkReports {
  receipts(change: StateChange, receipts: readonly Receipt[]): Promise<void>;
  inbound(change: StateChange, message: InboundMessage): Promise<void>;
}

/** A new network id: a fixed prefix and 16 upper-case hex digits. For debugging only. */
export function newNetworkId(): string {
  return `3EB0${randomBytes(8).toString('hex').toUpperCase()}`;
}
