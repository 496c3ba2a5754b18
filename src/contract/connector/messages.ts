import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { sendMessageRequest } from '../service/messages.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { listOf, ofAccount, ofConnection, pageQuery } from './lists.ts';

/** Which source made a message known first. */
export const FIRST_SEEN_BY = ['webhook', 'poll', 'send'] as const;
export const firstSeenBy = z
  .enum(FIRST_SEEN_BY)
  .describe(
    'Which source made it known first: `webhook`, a delivery; `poll`, so its webhook was late, lost or never sent; `send`, the answer to a send of this connector. It never changes.',
  );
export type FirstSeenBy = z.infer<typeof firstSeenBy>;

/** A message as the connector keeps it. One that is known by its status alone has no peer and no text. */
export const connectorMessage = z.object({
  id: identifier.describe('As the service gave it: the id to join and dedupe on.'),
  connectionId: identifier.describe('The connection that it came or went by.'),
  direction: direction.describe('`incoming`: a contact wrote it. `outgoing`: it was sent by the connection.'),
  peer: z
    .string()
    .nullable()
    .describe(
      'The other party: international digits, no `+`. Null when no source has named it: lists of the service do not, so a message that polling brought has none.',
    ),
  text: z
    .string()
    .nullable()
    .describe('The text, or the caption of the file; null: it has none, or it is known by its status alone.'),
  mediaUrl: z
    .string()
    .nullable()
    .describe(
      'Where the service keeps the file; null: it has none, or it cannot be fetched. Fetch it by `GET /v1/messages/{id}/media`.',
    ),
  mediaType: z.string().nullable().describe('MIME type of the file, as its sender named it; null for text.'),
  status: messageStatus
    .nullable()
    .describe(
      'How far an outgoing message got: `sent`, `delivered`, `read` or `failed`. It rises only, and `failed` stays. Null for an incoming one.',
    ),
  errorMessage: z.string().nullable().describe('Why it failed, in words of the service; null unless it did.'),
  createdAt: dateTime.describe(
    "The service's time of it. Until a poll has shown the message it is the time of its first event.",
  ),
  firstSeenBy,
  customerRef: z
    .string()
    .nullable()
    .describe('The customer record that its connection is mapped to now; null: none.'),
});
export type ConnectorMessage = z.infer<typeof connectorMessage>;

/** Query of `GET /v1/messages`. */
export const listConnectorMessagesQuery = z.strictObject({
  accountId: ofAccount,
  connectionId: ofConnection,
  peer: z
    .string()
    .regex(/^\d{1,64}$/, 'must be digits, without +')
    .optional()
    .describe('Only messages with this other party: digits, no `+`. Those without a known one are left out.'),
  direction: direction.optional().describe('Only `incoming` or only `outgoing` messages. Absent: both.'),
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
    to: sendMessageRequest.shape.to,
    text: sendMessageRequest.shape.text,
    media: sendMessageRequest.shape.media,
    reference: z
      .string()
      .min(1)
      .max(255)
      .describe(
        'The id of this send in the CRM, unique within the account. The same request again is the same send, until 90 days after its end; another one with this id is refused.',
      ),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'needs exactly one of `text` and `media`',
    path: ['text'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type QueueMessageRequest = z.infer<typeof queueMessageRequest>;

/** Answer of `POST /v1/messages`. */
export const queuedMessage = z.object({
  outboundId: identifier.describe('Id of the send: `GET /v1/outbound/{id}` says what became of it.'),
});
export type QueuedMessage = z.infer<typeof queuedMessage>;
