import type { MessageStatus } from '../../contract/service/statuses.ts';

/** Where a fact about a message came from. */
export type FactSource = 'webhook' | 'poll' | 'send';

/** Bits of `messages.webhook_seen`: which events a webhook has brought. */
export const WEBHOOK_SEEN = { received: 1, sent: 2, delivered: 4, read: 8, failed: 16 } as const;

/** What one source tells of one message. Null: the source does not say. */
export interface MessageFacts {
  readonly connectionId: string;
  readonly messageId: string;
  /** The account whose credential or subscription the fact came by. */
  readonly accountId: string;
  readonly source: FactSource;
  readonly direction: 'incoming' | 'outgoing';
  readonly peer: string | null;
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  /** Of an outgoing message; an incoming one has none. */
  readonly status: MessageStatus | null;
  readonly errorMessage: string | null;
  readonly waMessageId: string | null;
  /** Epoch ms. A poll brings the service's own; an event's timestamp or a send's time only stand in for it. */
  readonly createdAt: number;
  /** When the status was reached, epoch ms; orders the statuses of one batch. Default: `createdAt`. */
  readonly statusAt?: number;
  /** Bits of `WEBHOOK_SEEN`; 0 unless the source is a webhook. */
  readonly webhookSeen: number;
}

/** What a `connection.connected` or `connection.disconnected` event tells. Null: the event does not say. */
export interface ConnectionEventFacts {
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
