import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { mediaObject, sendMessageRequest } from '../service/messages.ts';
import { entriesOf } from './lists.ts';

const id = z.string().min(1).max(255);
const longestMs = 365 * 24 * 3_600_000;
const delayMs = (what: string) =>
  z
    .int()
    .min(0)
    .max(longestMs)
    .nullable()
    .describe(`Milliseconds of virtual time from the send ${what}; null: never.`);

/** How a person on the network behaves. */
export const contact = z.object({
  onNetwork: z.boolean().describe('False: the number has no account, and a send to it is refused.'),
  deliverAfterMs: delayMs('until the message is delivered'),
  readAfterMs: delayMs('until it is read'),
  failAfterMs: delayMs('until it fails'),
  autoReply: z.string().min(1).nullable().describe('What the person answers to each message; null: nothing.'),
});
export type Contact = z.infer<typeof contact>;

/** Body of `PUT /contacts/{phone}`; what is absent stays. */
export const putContactRequest = z.strictObject(contact.shape).partial();
export type PutContactRequest = z.infer<typeof putContactRequest>;

/** Body of `POST /contacts/{phone}/messages`: the person writes to a connection. */
export const contactWritesRequest = z
  .strictObject({
    connectionId: id.describe('The connection that the person writes to.'),
    text: sendMessageRequest.shape.text.describe('What the person writes.'),
    media: z.strictObject(mediaObject.shape).optional().describe('The file that the person sends.'),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'needs exactly one of `text` and `media`',
    path: ['text'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'] }] });
export type ContactWritesRequest = z.infer<typeof contactWritesRequest>;

export const contactWrote = z.object({ messageId: id.describe('Its id in `GET /messages` of the service.') });
export type ContactWrote = z.infer<typeof contactWrote>;

/** A file as a phone got it. */
const receivedMedia = z.object({
  filename: z.string().describe('As it was sent.'),
  mimetype: z.string().describe('As it was sent.'),
  caption: z.string().nullable().optional().describe('As it was sent.'),
  bytes: z.int().min(0).describe('Size of the file.'),
  sha256: z.string().describe('Hex digest of the file, to compare with what was sent.'),
  voiceNote: z.boolean().optional().describe('The phone plays it as a voice note.'),
});

/** What a phone really received. */
export const phoneMessage = z.object({
  messageId: id.describe('The `messageId` that the send was answered with.'),
  connectionId: id.describe('The connection that sent it.'),
  from: z.string().describe('Number of the connection.'),
  text: z.string().nullable().describe('The text, or the caption of the file.'),
  media: receivedMedia.optional().describe('The file, for a message with one.'),
  at: dateTime.describe('Virtual time.'),
});
export type PhoneMessage = z.infer<typeof phoneMessage>;

/** Oldest first. */
export const phoneMessageList = entriesOf(phoneMessage);
export type PhoneMessageList = z.infer<typeof phoneMessageList>;
