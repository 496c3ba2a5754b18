import { z } from 'zod';
import { dateTime, epochMs, identifier, phoneDigits } from './fields.ts';
import { messageStatus } from './statuses.ts';

/** The four event types; no others are sent. Implements `Events`. */
export const EVENT_TYPES = [
  'message.received',
  'message.status',
  'connection.disconnected',
  'connection.connected',
] as const;
export const eventType = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof eventType>;

const connectionId = identifier.describe('The connection that the event is about.');
const timestamp = epochMs.describe('When it happened, epoch milliseconds.');
const waId = z.string().nullable().describe('Network id, for debugging only.');

/** A message arrived. Implements `message.received`. */
export const messageReceivedEvent = z.object({
  event: z.literal('message.received').describe('Type of the event.'),
  connection_id: connectionId,
  message: z
    .object({
      id: identifier.describe('Same value as `id` in `GET /messages`; dedupe and join on it.'),
      wa_id: waId,
      from: phoneDigits.describe('International digits, no `+`.'),
      text: z.string().nullable().describe('Null for media alone.'),
      media_url: z
        .string()
        .nullable()
        .describe('Null for text, or when the file cannot be fetched publicly.'),
      media_type: z.string().nullable().describe('MIME type of the file; null for text.'),
      timestamp,
    })
    .describe('The message that arrived.'),
});
export type MessageReceivedEvent = z.infer<typeof messageReceivedEvent>;

/** The delivery state of an outgoing message changed. Implements `message.status`. */
export const messageStatusEvent = z.object({
  event: z.literal('message.status').describe('Type of the event.'),
  connection_id: connectionId,
  message: z
    .object({
      id: identifier.describe('The `messageId` that the send returned.'),
      wa_id: waId,
      status: messageStatus.describe(
        '`sent`, `delivered`, `read` or `failed`. Apply it only if it ranks higher than the stored one; `failed` is final, and does not follow `read`.',
      ),
      timestamp,
    })
    .describe('The message whose delivery state changed.'),
});
export type MessageStatusEvent = z.infer<typeof messageStatusEvent>;

const eventConnection = z.object({
  id: connectionId,
  phone_number: phoneDigits.describe('International digits, no `+`.'),
  label: z.string().describe('Name given by the owner.'),
  status: z.string().describe('`disconnected`, or `connected`.'),
  needs_reconnect: z.boolean().describe('The field that a user interface follows.'),
  license_status: z.string().describe('For example `active`. Clients take any value.'),
  license_expires: dateTime.nullable().describe('End of the licence; null when there has been none.'),
  reason: z.string().nullable().describe('Advisory; new values may appear.'),
});
/** `connection` inside the two connection events. */
export type EventConnection = z.infer<typeof eventConnection>;

/** A connection stopped working and needs pairing again. Implements `connection.disconnected`. */
export const connectionDisconnectedEvent = z.object({
  event: z.literal('connection.disconnected').describe('Type of the event.'),
  connection_id: connectionId,
  connection: eventConnection.describe('The connection as it is now.'),
  timestamp,
});
export type ConnectionDisconnectedEvent = z.infer<typeof connectionDisconnectedEvent>;

/**
 * A connection that was reported broken works again. The specification does not show this payload; our
 * choice is the shape of `connection.disconnected`, with `reason` null.
 */
export const connectionConnectedEvent = z.object({
  event: z.literal('connection.connected').describe('Type of the event.'),
  connection_id: connectionId,
  connection: eventConnection.describe('The connection as it is now.'),
  timestamp,
});
export type ConnectionConnectedEvent = z.infer<typeof connectionConnectedEvent>;

/** Any event, exactly as the service writes it. To read what came in, use `parseWebhookEvent`. */
export const webhookEvent = z.discriminatedUnion('event', [
  messageReceivedEvent,
  messageStatusEvent,
  connectionDisconnectedEvent,
  connectionConnectedEvent,
]);
export type WebhookEvent = z.infer<typeof webhookEvent>;
