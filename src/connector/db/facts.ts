import type { MessageStatus } from '../../contract/service/statuses.ts';
import { messageTexts } from './message-tables.ts';

/** The source of a fact about a message. */
export type FactSource = 'webhook' | 'poll' | 'send';

/** Bits of `messages.webhook_seen`: which events a webhook has delivered. */
export const WEBHOOK_SEEN = { received: 1, sent: 2, delivered: 4, read: 8, failed: 16 } as const;

/**
 * Bits for what a write changed on a message. `created`, `status` and `fields` cause changes in the feed;
 * `bookkeeping` (which webhooks arrived, whether a poll saw it) and `conflict` (both `read` and `failed` were
 * reported) do not.
 */
export const CHANGE = { created: 1, status: 2, fields: 4, bookkeeping: 8, conflict: 16 } as const;

/** The bits that cause changes in the feed. */
export const IN_FEED = CHANGE.created | CHANGE.status | CHANGE.fields;

/** The texts that a source may report about a message. Null: not reported. */
export type MessageTexts = { readonly [Name in keyof typeof messageTexts | 'waMessageId']: string | null };

export const MESSAGE_TEXTS = [...Object.keys(messageTexts), 'waMessageId'] as (keyof MessageTexts)[];

/** One value for each text. */
export function eachText(of: (name: keyof MessageTexts) => string | null): MessageTexts {
  return Object.fromEntries(MESSAGE_TEXTS.map((name) => [name, of(name)])) as unknown as MessageTexts;
}

/**
 * Begins the id of the account of events until an account lists their connection, see `unclaimedAccount`. A message goes
 * to that account with what it reports of it.
 */
export const UNCLAIMED = 'unclaimed:';

/** What one source reports about one message. Null: not reported. */
export interface MessageFacts extends MessageTexts {
  readonly connectionId: string;
  readonly messageId: string;
  /** The account whose credential or subscription the fact was received with. */
  readonly accountId: string;
  readonly source: FactSource;
  readonly direction: 'incoming' | 'outgoing';
  /** Of an outgoing message; an incoming one has none. */
  readonly status: MessageStatus | null;
  /**
   * Epoch ms. A poll reports the service's own; until then, the timestamp of an event or the time of a send is
   * used.
   */
  readonly createdAt: number;
  /** Bits of `WEBHOOK_SEEN`; 0 unless the source is a webhook. */
  readonly webhookSeen: number;
  /** Of a poll: false if direction or time are assumptions, which a poll that can read them replaces. Default: true. */
  readonly certain?: boolean;
}

/** What a `connection.connected` or `connection.disconnected` event reports. Null: not reported. */
export interface ConnectionStateFacts {
  readonly connectionId: string;
  readonly accountId: string;
  readonly event: 'connection.connected' | 'connection.disconnected';
  /** Payload timestamp, epoch ms. */
  readonly at: number;
  readonly phoneNumber: string | null;
  readonly label: string | null;
  readonly status: string | null;
  readonly needsReconnect: boolean | null;
  readonly licenseStatus: string | null;
  /** Epoch ms. */
  readonly licenseExpires: number | null;
  readonly reason: string | null;
}

/** A verified delivery for the raw log. */
export interface RawDelivery {
  readonly subscriptionId: string;
  readonly accountId: string;
  /** Epoch ms, our clock. */
  readonly receivedAt: number;
  /** The signed timestamp header, epoch ms. */
  readonly signedAt: number;
  /** The secret of the subscription that matches its signature. */
  readonly secretVersion?: number;
  readonly body: Uint8Array;
  /** The value of `event`, as far as it could be read. */
  readonly event: string | null;
  /** The facts that it reports. Absent: nothing to merge; `outcome` says why. */
  readonly message?: MessageFacts;
  readonly connection?: ConnectionStateFacts;
  readonly outcome?: 'unknown_event' | 'invalid' | 'unmergeable';
  readonly reason?: string;
  /** The message of a delivery without facts, as far as it could be read: the delivery is found by it. */
  readonly names?: { readonly connectionId: string | null; readonly messageId: string | null };
}

/** The effect of a delivery, as stored in the raw log. */
export const DELIVERY_OUTCOMES = [
  'merged',
  'unchanged',
  'foreign',
  'unknown_event',
  'invalid',
  'unmergeable',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];
