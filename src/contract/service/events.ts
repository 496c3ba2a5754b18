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

const waId = z.string().nullable().describe('Network id, for debugging only.');

/** A message arrived. Implements `message.received`. */
export const messageReceivedEvent = z.object({
  event: z.literal('message.received'),
  connection_id: identifier,
  message: z.object({
    id: identifier.describe('Same value as `id` in `GET /messages`; dedupe and join on it.'),
    wa_id: waId,
    from: phoneDigits.describe('International digits, no `+`.'),
    text: z.string().nullable().describe('Null for media alone.'),
    media_url: z.string().nullable().describe('Null for text, or when the file cannot be fetched publicly.'),
    media_type: z.string().nullable(),
    timestamp: epochMs,
  }),
});
export type MessageReceivedEvent = z.infer<typeof messageReceivedEvent>;

/** The delivery state of an outgoing message changed. Implements `message.status`. */
export const messageStatusEvent = z.object({
  event: z.literal('message.status'),
  connection_id: identifier,
  message: z.object({
    id: identifier.describe('The `messageId` that the send returned.'),
    wa_id: waId,
    status: messageStatus,
    timestamp: epochMs,
  }),
});
export type MessageStatusEvent = z.infer<typeof messageStatusEvent>;

const eventConnection = z.object({
  id: identifier,
  phone_number: phoneDigits,
  label: z.string(),
  status: z.string(),
  needs_reconnect: z.boolean().describe('The field that a user interface follows.'),
  license_status: z.string(),
  license_expires: dateTime.nullable(),
  reason: z.string().nullable().describe('Advisory; new values may appear.'),
});
/** `connection` inside the two connection events. */
export type EventConnection = z.infer<typeof eventConnection>;

/** A connection stopped working and needs pairing again. Implements `connection.disconnected`. */
export const connectionDisconnectedEvent = z.object({
  event: z.literal('connection.disconnected'),
  connection_id: identifier,
  connection: eventConnection,
  timestamp: epochMs,
});
export type ConnectionDisconnectedEvent = z.infer<typeof connectionDisconnectedEvent>;

/**
 * A connection that was reported broken works again. The specification does not show this payload; our
 * choice is the shape of `connection.disconnected`, with `reason` null.
 */
export const connectionConnectedEvent = z.object({
  event: z.literal('connection.connected'),
  connection_id: identifier,
  connection: eventConnection,
  timestamp: epochMs,
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
