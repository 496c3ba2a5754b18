import { z } from 'zod';
import { queryInteger } from '../query.ts';
import { dateTime, identifier, phoneDigits } from './fields.ts';
import { LIMITS } from './limits.ts';
import { direction, messageStatus } from './statuses.ts';

/** Element of `messages` in `GET /messages`. Implements `Message`. */
export const message = z.object({
  id: identifier.describe('The only id to join and dedupe on.'),
  waMessageId: z.string().nullable().describe('Network id, for debugging only.'),
  connectionId: identifier.describe('The connection that it came or went by.'),
  direction: direction.describe('`incoming` or `outgoing`.'),
  text: z.string().nullable().describe('The text, or the caption of the file.'),
  mediaUrl: z.string().nullable().describe('Where the file can be fetched; null for text.'),
  mediaType: z.string().nullable().describe('MIME type of the file; null for text.'),
  status: messageStatus.describe('`sent`, `delivered`, `read` or `failed`.'),
  errorMessage: z.string().nullable().describe('Why it failed; null unless it did.'),
  createdAt: dateTime.describe('When the service stored it.'),
});
export type Message = z.infer<typeof message>;

/** Query of `GET /messages`. Implements `Rules per endpoint`, 9. */
export const listMessagesQuery = z.object({
  connectionId: z.string().optional().describe('Only this connection; outside the grant: an empty page.'),
  limit: queryInteger({
    min: LIMITS.pageSizeMin,
    max: LIMITS.pageSizeMax,
    default: LIMITS.pageSizeDefault,
  }).describe('How many messages a page holds.'),
  cursor: z.string().optional().describe('`nextCursor` of the page before.'),
});
export type ListMessagesQuery = z.infer<typeof listMessagesQuery>;

/** A page of messages, newest first. */
export const listMessagesAnswer = z.object({
  messages: z.array(message).describe('Newest first.'),
  nextCursor: z.string().nullable().describe('Null on the last page.'),
  hasMore: z.boolean().describe('Whether another page follows.'),
});
export type ListMessagesAnswer = z.infer<typeof listMessagesAnswer>;

/** True when the text has at most `limit` Unicode code points. Counts only when the length leaves a doubt. */
function fitsCodePoints(text: string, limit: number): boolean {
  if (text.length <= limit) return true;
  if (text.length > 2 * limit) return false;
  return [...text].length <= limit;
}

/** Bounds a string to the length of a text. */
function ofTextLength(schema: z.ZodString) {
  return schema
    .refine((text) => fitsCodePoints(text, LIMITS.textCharacters), 'must have at most 4096 characters')
    .meta({ maxLength: LIMITS.textCharacters });
}

/** A file in a send; its caption is a text like any other. Implements `Media object`. */
export const mediaObject = z.object({
  filename: z.string().min(1).max(255).describe('Voice notes use `voice-*.ogg`.'),
  mimetype: z.string().min(1).max(255).describe('Voice notes use `audio/ogg`.'),
  data: z.base64().min(1).max(LIMITS.mediaBase64Characters).describe('Base64, at most 16 MB.'),
  caption: ofTextLength(z.string()).optional().describe('Shown with the file; at most 4096 characters.'),
});
export type MediaObject = z.infer<typeof mediaObject>;

/** Message of the issue that stands for the error `text_or_media`. */
export const TEXT_OR_MEDIA = 'text_or_media';

/** True for a body with both, whatever else is wrong with it: that says more than the first bad field. */
function hasBoth(body: unknown): boolean {
  const has = (key: string): boolean =>
    typeof body === 'object' && body !== null && Reflect.get(body, key) !== undefined;
  return has('text') && has('media');
}

/** Body of `POST /messages`. Implements `10. POST /messages body`. */
export const sendMessageRequest = z
  .object({
    connectionId: z.string().min(1).describe('The connection to send by.'),
    to: phoneDigits.describe('International digits only, no `+`.'),
    text: ofTextLength(z.string().min(1))
      .optional()
      .describe('At most 4096 characters. Exactly one of `text` and `media`.'),
    media: mediaObject.optional().describe('A file. Exactly one of `text` and `media`.'),
    idempotencyKey: z
      .string()
      .min(1)
      .max(LIMITS.idempotencyKeyCharacters)
      .optional()
      .describe('A UUID per logical send. In the body, not in a header.'),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: TEXT_OR_MEDIA,
    when: ({ value, issues }) => issues.length === 0 || hasBoth(value),
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type SendMessageRequest = z.infer<typeof sendMessageRequest>;

/**
 * Answer of a send. `messageId` null with `persisted` false is the degraded case: delivered but not stored,
 * and not to be retried. A media send names the network id twice.
 */
export const sendMessageAnswer = z.object({
  messageId: identifier.nullable().describe('The only id to join on; null when `persisted` is false.'),
  waMessageId: z.string().nullable().describe('Network id, for debugging only.'),
  status: z.string().describe('`sent`.'),
  persisted: z.boolean().optional().describe('False: delivered but not stored; do not retry.'),
  wa_message_id: z.string().nullable().optional().describe('Media sends: same value as `waMessageId`.'),
});
export type SendMessageAnswer = z.infer<typeof sendMessageAnswer>;

/** Body of `POST /messages/read`. Implements `Rules per endpoint`, 11. */
export const readReceiptRequest = z
  .object({
    connectionId: z.string().min(1).describe('The connection that received the messages.'),
    phone: phoneDigits.optional().describe('Whose messages were read; digits only.'),
    messageId: z.string().min(1).optional().describe('Cuid of an incoming message; wins over `phone`.'),
  })
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ReadReceiptRequest = z.infer<typeof readReceiptRequest>;

/** Answer of a read receipt; `marked` counts the messages that this call turned to read. */
export const readReceiptAnswer = z.object({
  ok: z.literal(true).describe('Done.'),
  marked: z.int().min(0).describe('How many messages this call turned to read.'),
});
export type ReadReceiptAnswer = z.infer<typeof readReceiptAnswer>;
