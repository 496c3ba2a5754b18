import { z } from 'zod';
import { queryInteger } from '../schema/query.ts';
import { dateTime, identifier, phoneDigits } from './fields.ts';
import { LIMITS } from './limits.ts';
import { direction, messageStatus } from './statuses.ts';

/** Element of `messages` in `GET /messages`. [messages.item.exact] */
export const message = z.object({
  id: identifier.describe('The only id to join and deduplicate on.'), // [messages.item.id]
  // [messages.item.waMessageId]
  waMessageId: z.string().nullable().describe('Id assigned by the network, for debugging only.'),
  // [messages.item.connectionId]
  connectionId: identifier.describe('The connection that received or sent it.'),
  direction: direction.describe('`incoming` or `outgoing`.'), // [messages.item.direction]
  text: z.string().nullable().describe('The text, or the caption of the file.'), // [messages.item.text]
  mediaUrl: z.string().nullable().describe('URL of the file; null for a text.'), // [messages.item.mediaUrl]
  // [messages.item.mediaType]
  mediaType: z.string().nullable().describe('MIME type of the file; null for a text.'),
  status: messageStatus.describe('`sent`, `delivered`, `read` or `failed`.'), // [messages.item.status]
  // [messages.item.errorMessage]
  errorMessage: z.string().nullable().describe('Why the message failed; null if it did not fail.'),
  createdAt: dateTime.describe('When the service stored the message.'), // [messages.item.createdAt]
});
export type Message = z.infer<typeof message>;

/** Query of `GET /messages`. [messages.list.query] */
export const listMessagesQuery = z.object({
  connectionId: z
    .string()
    .optional()
    .describe('Only messages of this connection. If it is outside the grant, the page is empty.'),
  // [messages.list.limit] [choice.limit.refused]
  limit: queryInteger({
    min: LIMITS.pageSizeMin,
    max: LIMITS.pageSizeMax,
    default: LIMITS.pageSizeDefault,
  }).describe('Maximum number of messages on a page.'),
  cursor: z.string().optional().describe('`nextCursor` of the previous page.'),
});
export type ListMessagesQuery = z.infer<typeof listMessagesQuery>;

/** A page of messages, newest first. [messages.list.answer] */
export const listMessagesAnswer = z.object({
  messages: z.array(message).describe('Newest first.'),
  nextCursor: z
    .string()
    .nullable()
    .describe('Pass it as `cursor` to get the next page; null on the last page.'),
  hasMore: z.boolean().describe('Whether another page follows.'),
});
export type ListMessagesAnswer = z.infer<typeof listMessagesAnswer>;

/**
 * True if the text has at most `limit` Unicode code points. It counts them only if the length alone does not
 * decide. [choice.text.code-points]
 */
function fitsCodePoints(text: string, limit: number): boolean {
  if (text.length <= limit) return true;
  if (text.length > 2 * limit) return false;
  return [...text].length <= limit;
}

/** Limits a string to the length of a text. */
function ofTextLength(schema: z.ZodString) {
  return schema
    .refine((text) => fitsCodePoints(text, LIMITS.textCharacters), 'must have at most 4096 characters')
    .meta({ maxLength: LIMITS.textCharacters });
}

/** A file in a send; its caption has the same limit as a text. */
export const mediaObject = z.object({
  // [media.filename]
  filename: z.string().min(1).max(255).describe('File name. Voice notes use `voice-*.ogg`.'),
  // [media.mimetype]
  mimetype: z.string().min(1).max(255).describe('MIME type. Voice notes use `audio/ogg`.'),
  // [media.data]
  data: z.base64().min(1).max(LIMITS.mediaBase64Characters).describe('Base64, at most 16 MB.'),
  // [media.caption]
  caption: ofTextLength(z.string()).optional().describe('Shown with the file; at most 4096 characters.'),
});
export type MediaObject = z.infer<typeof mediaObject>;

/** Message of the validation issue that is returned as the error `text_or_media`. */
export const TEXT_OR_MEDIA = 'text_or_media';

/** True for a body with both. This error takes precedence over any invalid field. [messages.send.both] */
function hasBoth(body: unknown): boolean {
  const has = (key: string): boolean =>
    typeof body === 'object' && body !== null && Reflect.get(body, key) !== undefined;
  return has('text') && has('media');
}

/** Body of `POST /messages`. */
export const sendMessageRequest = z
  .object({
    // [messages.send.connectionId]
    connectionId: z.string().min(1).describe('The connection that sends the message.'),
    to: phoneDigits.describe('International digits only, no `+`.'), // [messages.send.to] [choice.to.field]
    text: ofTextLength(z.string().min(1)) // [messages.send.text]
      .optional()
      .describe('At most 4096 characters. Exactly one of `text` and `media`.'),
    // [messages.send.media]
    media: mediaObject.optional().describe('A file. Exactly one of `text` and `media`.'),
    idempotencyKey: z // [messages.send.key-in-body]
      .string()
      .min(1)
      .max(LIMITS.idempotencyKeyCharacters)
      .optional()
      .describe('A UUID per logical send. In the body, not in a header.'),
  })
  // [messages.send.one] [choice.content.neither]
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: TEXT_OR_MEDIA,
    when: ({ value, issues }) => issues.length === 0 || hasBoth(value),
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type SendMessageRequest = z.infer<typeof sendMessageRequest>;

/**
 * Response of a send. `messageId` null with `persisted` false is the degraded case: the message was delivered
 * but not stored, and must not be sent again. A media send returns the network id under two names.
 * [messages.send.answer]
 */
export const sendMessageAnswer = z.object({
  messageId: identifier.nullable().describe('The only id to join on; null when `persisted` is false.'),
  // [messages.send.wa-null]
  waMessageId: z.string().nullable().describe('Id assigned by the network, for debugging only.'),
  status: z.string().describe('`sent`.'),
  persisted: z // [messages.send.degraded]
    .boolean()
    .optional()
    .describe('False if the message was delivered but not stored; do not send it again.'),
  // [messages.send.wa-media]
  wa_message_id: z.string().nullable().optional().describe('Only for media sends; equals `waMessageId`.'),
});
export type SendMessageAnswer = z.infer<typeof sendMessageAnswer>;

/** Body of `POST /messages/read`. [messages.read.request] */
export const readReceiptRequest = z
  .object({
    // [messages.read.connection-required]
    connectionId: z.string().min(1).describe('The connection that received the messages.'),
    phone: phoneDigits.optional().describe('The contact whose messages were read; digits only.'),
    messageId: z
      .string()
      .min(1)
      .optional()
      .describe('Id of an incoming message; takes precedence over `phone`.'),
  })
  // [messages.read.one-required]
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ReadReceiptRequest = z.infer<typeof readReceiptRequest>;

/**
 * Response of a read receipt; `marked` counts the messages that this call marked as read.
 * [shapes.read-receipt]
 */
export const readReceiptAnswer = z.object({
  ok: z.literal(true).describe('Done.'),
  marked: z.int().min(0).describe('How many messages this call marked as read.'),
});
export type ReadReceiptAnswer = z.infer<typeof readReceiptAnswer>;
