import { z } from 'zod';
import { dateTime, identifier, phoneDigits } from '../service/fields.ts';
import { mediaObject, sendMessageRequest } from '../service/messages.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { listOf, pageQuery } from './lists.ts';

/** Which source made a message known first. */
export const FIRST_SEEN_BY = ['webhook', 'poll', 'send'] as const;
const firstSeenBy = z.enum(FIRST_SEEN_BY);
export type FirstSeenBy = z.infer<typeof firstSeenBy>;

/** A message as the connector keeps it. One that is known by its status alone has no peer and no text. */
export const connectorMessage = z.object({
  id: identifier,
  connectionId: identifier,
  direction,
  peer: z.string().nullable().describe('Digits of the other party; null when no source has named it.'),
  text: z.string().nullable(),
  mediaUrl: z.string().nullable(),
  mediaType: z.string().nullable(),
  status: messageStatus.nullable().describe('How far an outgoing message got; null for an incoming one.'),
  errorMessage: z.string().nullable(),
  createdAt: dateTime,
  firstSeenBy,
  customerRef: z.string().nullable().describe('The record of the CRM that the connection is mapped to.'),
});
export type ConnectorMessage = z.infer<typeof connectorMessage>;

/** Query of `GET /v1/messages`. */
export const listConnectorMessagesQuery = z.strictObject({
  accountId: z.string().min(1).max(255).optional(),
  connectionId: z.string().min(1).max(255).optional(),
  peer: z
    .string()
    .regex(/^\d{1,64}$/, 'must be digits, without +')
    .optional(),
  direction: direction.optional(),
  ...pageQuery,
});
export type ListConnectorMessagesQuery = z.infer<typeof listConnectorMessagesQuery>;

/** Stored messages, newest first. */
export const connectorMessageList = listOf('messages', connectorMessage);
export type ConnectorMessageList = z.infer<typeof connectorMessageList>;

/** Body of `POST /v1/messages`: the service's send, with the CRM's own id in place of an idempotency key. */
export const queueMessageRequest = z
  .strictObject({
    connectionId: sendMessageRequest.shape.connectionId,
    to: phoneDigits,
    text: sendMessageRequest.shape.text,
    media: mediaObject.optional(),
    reference: z
      .string()
      .min(1)
      .max(255)
      .describe('The id of this send in the CRM. Repeats are one send, until 90 days after its end.'),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'needs exactly one of `text` and `media`',
    path: ['text'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type QueueMessageRequest = z.infer<typeof queueMessageRequest>;

/** Answer of `POST /v1/messages`. */
export const queuedMessage = z.object({ outboundId: identifier });
export type QueuedMessage = z.infer<typeof queuedMessage>;
