import { z } from 'zod';
import { queryInteger } from '../query.ts';
import { dateTime, identifier, phoneDigits } from './fields.ts';
import { LIMITS } from './limits.ts';
import { direction, messageStatus } from './statuses.ts';

/** Element of `messages` in `GET /messages`. Implements `Message`. */
export const message = z.object({
  id: identifier.describe('The only id to join and dedupe on.'),
  waMessageId: z.string().nullable().describe('Network id, for debugging only.'),
  connectionId: identifier,
  direction,
  text: z.string().nullable(),
  mediaUrl: z.string().nullable(),
  mediaType: z.string().nullable(),
  status: messageStatus,
  errorMessage: z.string().nullable(),
  createdAt: dateTime,
});
export type Message = z.infer<typeof message>;

/** Query of `GET /messages`. Implements `Rules per endpoint`, 9. */
export const listMessagesQuery = z.object({
  connectionId: z.string().optional().describe('Only this connection; outside the grant: an empty page.'),
  limit: queryInteger({
    min: LIMITS.pageSizeMin,
    max: LIMITS.pageSizeMax,
    default: LIMITS.pageSizeDefault,
  }),
  cursor: z.string().optional().describe('`nextCursor` of the page before.'),
});
export type ListMessagesQuery = z.infer<typeof listMessagesQuery>;

/** A page of messages, newest first. */
export const listMessagesAnswer = z.object({
  messages: z.array(message),
  nextCursor: z.string().nullable().describe('Null on the last page.'),
  hasMore: z.boolean(),
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
  caption: ofTextLength(z.string()).optional(),
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
    connectionId: z.string().min(1),
    to: phoneDigits.describe('International digits only, no `+`.'),
    text: ofTextLength(z.string().min(1)).optional(),
    media: mediaObject.optional(),
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
  messageId: identifier.nullable(),
  waMessageId: z.string().nullable(),
  status: z.string(),
  persisted: z.boolean().optional().describe('False: delivered but not stored; do not retry.'),
  wa_message_id: z.string().nullable().optional().describe('Media sends: same value as `waMessageId`.'),
});
export type SendMessageAnswer = z.infer<typeof sendMessageAnswer>;

/** Body of `POST /messages/read`. Implements `Rules per endpoint`, 11. */
export const readReceiptRequest = z
  .object({
    connectionId: z.string().min(1),
    phone: phoneDigits.optional(),
    messageId: z.string().min(1).optional().describe('Cuid of an incoming message; wins over `phone`.'),
  })
  .refine((body) => body.phone !== undefined || body.messageId !== undefined, {
    message: 'needs `phone` or `messageId`',
    path: ['messageId'],
  })
  .meta({ anyOf: [{ required: ['phone'] }, { required: ['messageId'] }] });
export type ReadReceiptRequest = z.infer<typeof readReceiptRequest>;

/** Answer of a read receipt; `marked` counts the messages that this call turned to read. */
export const readReceiptAnswer = z.object({ ok: z.literal(true), marked: z.int().min(0) });
export type ReadReceiptAnswer = z.infer<typeof readReceiptAnswer>;
