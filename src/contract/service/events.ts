import { z } from 'zod';
import { dateTime, epochMs, identifier, phoneDigits } from './fields.ts';
import { messageStatus } from './statuses.ts';

/** The four event types; no others are sent. [events.four] */
export const EVENT_TYPES = [
  'message.received',
  'message.status',
  'connection.disconnected',
  'connection.connected',
] as const;
export const eventType = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof eventType>;

const connectionId = identifier.describe('The connection that the event concerns.');
const timestamp = epochMs.describe('When it happened, in epoch milliseconds.');
const waId = z.string().nullable().describe('Id assigned by the network, for debugging only.');

/** A message arrived. [events.received.exact] */
export const messageReceivedEvent = z.object({
  event: z.literal('message.received').describe('A message arrived. Own sends cause no such event.'),
  connection_id: connectionId, // [events.received.connection_id]
  message: z
    .object({
      // [events.received.id]
      id: identifier.describe('Equals `id` in `GET /messages`; use it to join and deduplicate.'),
      wa_id: waId, // [events.received.wa_id]
      from: phoneDigits.describe('International digits, no `+`.'), // [events.received.from]
      // [events.received.text] [events.received.text-null]
      text: z.string().nullable().describe('The text; null for a media-only message.'),
      // [events.received.media] [events.received.media-null]
      media_url: z
        .string()
        .nullable()
        .describe('URL of the file; null for a text, or if the file is not publicly available.'),
      media_type: z.string().nullable().describe('MIME type of the file; null for a text.'),
      timestamp, // [events.received.timestamp]
    })
    .describe('The message that arrived.'),
});
export type MessageReceivedEvent = z.infer<typeof messageReceivedEvent>;

/** The delivery state of an outgoing message changed. [events.status.exact] */
export const messageStatusEvent = z.object({
  event: z.literal('message.status').describe('The delivery state of a message that was sent has changed.'),
  connection_id: connectionId,
  message: z
    .object({
      id: identifier.describe('The `messageId` that the send returned.'), // [events.status.id]
      wa_id: waId, // [events.status.wa_id]
      // [events.status.values]
      status: messageStatus.describe(
        '`sent`, `delivered`, `read` or `failed`. Apply it only if its rank is higher than the stored one; `failed` is final and does not follow `read`.',
      ),
      timestamp, // [events.status.timestamp]
    })
    .describe('The message whose delivery state changed.'),
});
export type MessageStatusEvent = z.infer<typeof messageStatusEvent>;

const eventConnection = z.object({
  id: connectionId, // [events.disconnected.id]
  phone_number: phoneDigits.describe('International digits, no `+`.'), // [events.disconnected.phone_number]
  label: z.string().describe('Label set by the owner.'), // [events.disconnected.label]
  status: z.string().describe('`disconnected`, or `connected`.'), // [events.disconnected.status]
  // [events.disconnected.needs_reconnect]
  needs_reconnect: z.boolean().describe('Base the user interface on this field.'),
  // [events.disconnected.license_status]
  license_status: z.string().describe('License status, for example `active`. Accept any value.'),
  // [events.disconnected.license_expires]
  license_expires: dateTime.nullable().describe('When the license expires; null if there never was one.'),
  // [events.disconnected.reason]
  reason: z.string().nullable().describe('Advisory reason; new values may appear.'),
});
/** `connection` inside the two connection events. */
export type EventConnection = z.infer<typeof eventConnection>;

/**
 * A connection stopped working and must be paired again. [events.disconnected.exact]
 * [events.disconnected.no-qr]
 */
export const connectionDisconnectedEvent = z.object({
  event: z
    .literal('connection.disconnected')
    .describe(
      'A connection stopped working, and its owner must pair it again. It is sent once for each outage.',
    ),
  connection_id: connectionId,
  connection: eventConnection.describe('The current state of the connection.'),
  timestamp, // [events.disconnected.timestamp]
});
export type ConnectionDisconnectedEvent = z.infer<typeof connectionDisconnectedEvent>;

/**
 * A connection that was reported broken works again. The specification does not show this payload; we chose
 * the shape of `connection.disconnected`, with `reason` null. [events.connected.payload]
 */
export const connectionConnectedEvent = z.object({
  event: z.literal('connection.connected').describe('A connection that was reported as broken works again.'),
  connection_id: connectionId,
  connection: eventConnection.describe('The current state of the connection.'),
  timestamp,
});
export type ConnectionConnectedEvent = z.infer<typeof connectionConnectedEvent>;

/**
 * Any event, exactly as the service writes it. To read a received event, use `parseWebhookEvent`.
 * [choice.payload.exact] [events.snake-case] [versioning.webhooks-snake-case]
 */
export const webhookEvent = z.discriminatedUnion('event', [
  messageReceivedEvent,
  messageStatusEvent,
  connectionDisconnectedEvent,
  connectionConnectedEvent,
]);
export type WebhookEvent = z.infer<typeof webhookEvent>;
