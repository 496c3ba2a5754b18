import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { mediaObject, sendMessageRequest } from '../service/messages.ts';
import { entriesOf } from './lists.ts';

const id = z.string().min(1).max(255);
const delayMs = z
  .int()
  .min(0)
  .max(365 * 24 * 3_600_000)
  .nullable()
  .describe('Virtual ms from the send; null: never.');

/** How a person on the network behaves. */
export const contact = z.object({
  onNetwork: z.boolean(),
  deliverAfterMs: delayMs,
  readAfterMs: delayMs,
  failAfterMs: delayMs,
  autoReply: z.string().min(1).nullable(),
});
export type Contact = z.infer<typeof contact>;

/** Body of `PUT /contacts/{phone}`; what is absent stays. */
export const putContactRequest = z.strictObject(contact.shape).partial();
export type PutContactRequest = z.infer<typeof putContactRequest>;

/** Body of `POST /contacts/{phone}/messages`: the person writes to a connection. */
export const contactWritesRequest = z
  .strictObject({
    connectionId: id,
    text: sendMessageRequest.shape.text,
    media: z.strictObject(mediaObject.shape).optional(),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'needs exactly one of `text` and `media`',
    path: ['text'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type ContactWritesRequest = z.infer<typeof contactWritesRequest>;

export const contactWrote = z.object({ messageId: id });
export type ContactWrote = z.infer<typeof contactWrote>;

/** A file as a phone got it. */
const receivedMedia = z.object({
  filename: z.string(),
  mimetype: z.string(),
  caption: z.string().nullable().optional(),
  bytes: z.int().min(0).describe('Size of the file.'),
  sha256: z.string().describe('Hex digest of the file, to compare with what was sent.'),
  voiceNote: z.boolean().optional().describe('The phone plays it as a voice note.'),
});

/** What a phone really received. */
export const phoneMessage = z.object({
  messageId: id,
  connectionId: id,
  from: z.string(),
  text: z.string().nullable(),
  media: receivedMedia.optional(),
  at: dateTime.describe('Virtual time.'),
});
export type PhoneMessage = z.infer<typeof phoneMessage>;

/** Oldest first. */
export const phoneMessageList = entriesOf(phoneMessage);
export type PhoneMessageList = z.infer<typeof phoneMessageList>;
