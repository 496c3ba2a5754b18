import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { sendMessageRequest } from '../service/messages.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { listOf, ofAccount, ofConnection, pageQuery } from './lists.ts';

/** The source that first reported a message. */
export const FIRST_SEEN_BY = ['webhook', 'poll', 'send'] as const;
export const firstSeenBy = z
  .enum(FIRST_SEEN_BY)
  .describe(
    'The source that first reported the message. `webhook`: a delivery. `poll`: polling, so the webhook was late, lost or never sent. `send`: the response to a send of this connector. It never changes.',
  );
export type FirstSeenBy = z.infer<typeof firstSeenBy>;

/** Who sent an outgoing message. */
export const MESSAGE_ORIGINS = ['connector', 'elsewhere', 'unknown'] as const;
export type MessageOrigin = (typeof MESSAGE_ORIGINS)[number];

/** The CRM's own id of a send. */
export const sendReference = z.string().min(1).max(255);

export const historic = z
  .boolean()
  .describe('True if polling found the message, and it is older than the first listing of its connection.');

/** The states of the copy of a file. */
export const MEDIA_STATES = ['pending', 'stored', 'gone', 'failed'] as const;
export type MediaState = (typeof MEDIA_STATES)[number];

/** The copy of a file that the connector keeps. */
export const mediaCopy = z.object({
  state: z
    .enum(MEDIA_STATES)
    .describe(
      '`pending`; `stored`; `gone`: the service has no such file; or `failed`: `POST /v1/messages/{id}/media` tries again.',
    ),
  key: z.string().nullable().describe('Its path in the store.'),
  sha256: z.string().nullable().describe('In hexadecimal digits.'),
  size: z.int().nullable().describe('In bytes.'),
  error: z.string().nullable().describe('Why it is not stored.'),
});
export type MediaCopy = z.infer<typeof mediaCopy>;

/** A message as the connector stores it. A message known only by its status has no peer and no text. */
export const connectorMessage = z.object({
  id: identifier.describe('Assigned by the service. Use this id to join and deduplicate.'),
  connectionId: identifier.describe('The connection that received or sent it.'),
  direction: direction.describe('`incoming`: written by a contact. `outgoing`: sent by the connection.'),
  peer: z
    .string()
    .nullable()
    .describe(
      "The other party: international digits, no `+`; or another address, as the service names it (`…@lid`, a group). Null if no source has named it. The service's message list does not name it, so a message first seen by polling has none.",
    ),
  personKey: z
    .string()
    .nullable()
    .describe(
      'The same for all spellings of the number in `peer`, so it identifies the person. Compare it, and do not show it or send to it. A later version of the connector may know more spellings. Null if `peer` is.',
    ),
  text: z
    .string()
    .nullable()
    .describe(
      'The text, or the caption of the file; null if there is none or the message is known only by its status.',
    ),
  mediaUrl: z
    .string()
    .nullable()
    .describe(
      'Where the service stores the file; null if there is none or it cannot be fetched. Download it with `GET /v1/messages/{id}/media`.',
    ),
  mediaType: z.string().nullable().describe('MIME type of the file as given by its sender; null for a text.'),
  mediaCopy: mediaCopy
    .nullable()
    .describe('The copy of the file that the connector keeps (`MEDIA_STORE`); null if none.'),
  status: messageStatus
    .nullable()
    .describe(
      'Status of an outgoing message: `sent`, `delivered`, `read` or `failed`. It never moves backwards, and `failed` is final. Null for an incoming message.',
    ),
  errorMessage: z
    .string()
    .nullable()
    .describe('Why the message failed, as worded by the service; null if it did not fail.'),
  createdAt: dateTime.describe(
    'When the message was created, according to the service. Until a poll has returned the message, this is the time of its first event.',
  ),
  firstSeenBy,
  historic,
  origin: z
    .enum(MESSAGE_ORIGINS)
    .nullable()
    .describe(
      'Who sent an outgoing message. `connector`: this connector. `elsewhere`: the phone, or another program. `unknown`: a send that has no answer may have made it. Null for an incoming message.',
    ),
  reference: sendReference
    .nullable()
    .describe('The `reference` of the send that made it; null for any other message.'),
  customerRef: z
    .string()
    .nullable()
    .describe('The customer record that its connection is currently mapped to; null if none.'),
});
export type ConnectorMessage = z.infer<typeof connectorMessage>;

/** Query of `GET /v1/messages`. */
export const listConnectorMessagesQuery = z.strictObject({
  accountId: ofAccount,
  connectionId: ofConnection,
  peer: z
    .string()
    .regex(/^[^\0]{1,64}$/, 'must be the `peer` of a message')
    .optional()
    .describe(
      'Only messages with this other party, written as in `peer`. `none`: only incoming messages whose sender is unknown.',
    ),
  person: z
    .string()
    .regex(/^[^\0]{1,64}$/, 'must be a `personKey` or the `peer` of a message')
    .optional()
    .describe(
      'Only messages with this person: a `personKey`, or the number in any spelling, also with `+`, spaces and signs.',
    ),
  direction: direction.optional().describe('Only `incoming` or only `outgoing` messages. If absent, both.'),
  text: z
    .string()
    .regex(/^(?!.*\0)\s*\S.*\S.*\S\s*$/s, 'must have three characters or more')
    .max(200, 'must have at most 200 characters')
    .optional()
    .describe(
      'Only messages whose text contains this, in any case; for letters outside ASCII that depends on the locale of the database. It needs an index, `messages_text`; without it, the answer is `search_off` and says how to create it. A search ends after 2 s; narrow one that is too broad by `connectionId` or `person`.',
    ),
  ...pageQuery,
});
export type ListConnectorMessagesQuery = z.infer<typeof listConnectorMessagesQuery>;

/** Body of `PUT /v1/messages/{id}/peer`. */
export const namePeerRequest = z.strictObject({
  phone: sendMessageRequest.shape.to.describe('The number of the other party: international digits, no `+`.'),
});

/** Stored messages, newest first. */
export const connectorMessageList = listOf('messages', connectorMessage);
export type ConnectorMessageList = z.infer<typeof connectorMessageList>;

/**
 * Body of `POST /v1/messages`: the service's send request, with the CRM's own id instead of an idempotency
 * key.
 */
export const queueMessageRequest = z
  .strictObject({
    connectionId: sendMessageRequest.shape.connectionId,
    to: sendMessageRequest.shape.to,
    text: sendMessageRequest.shape.text,
    media: sendMessageRequest.shape.media,
    reference: sendReference.describe(
      "The CRM's own id for this send, unique within the account. Repeating the request refers to the same send until 90 days after it has finished; a different request with the same reference is rejected.",
    ),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'must have exactly one of `text` and `media`',
    path: ['text'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type QueueMessageRequest = z.infer<typeof queueMessageRequest>;

/** Response of `POST /v1/messages`. */
export const queuedMessage = z.object({
  outboundId: identifier.describe('Id of the send; follow it with `GET /v1/outbound/{id}`.'),
});
export type QueuedMessage = z.infer<typeof queuedMessage>;

/** Answer of `DELETE /v1/people/{id}`. */
export const erasedPerson = z.object({
  messages: z.int().min(0).describe('Messages that were erased.'),
  sends: z.int().min(0).describe('Sends that were deleted.'),
});
export type ErasedPerson = z.infer<typeof erasedPerson>;
