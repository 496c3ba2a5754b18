import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { mediaObject, sendMessageRequest } from '../service/messages.ts';
import { filterQuery } from './filter.ts';
import { entriesOf, sandboxPageQuery } from './lists.ts';

const id = z.string().min(1).max(255);
const longestMs = 365 * 24 * 3_600_000;
const delayMs = (what: string) =>
  z
    .int()
    .min(0)
    .max(longestMs)
    .nullable()
    .describe(`Milliseconds of virtual time from the send ${what}; null for never.`);

/** The behavior of a person on the network. */
export const contact = z.object({
  onNetwork: z
    .boolean()
    .describe('False if the number has no account on the network, so that sends to it are rejected.'),
  deliverAfterMs: delayMs('until the message is delivered'),
  readAfterMs: delayMs('until it is read'),
  failAfterMs: delayMs('until it fails'),
  autoReply: z
    .string()
    .min(1)
    .nullable()
    .describe('What the person replies to each message; null for no reply.'),
});
export type Contact = z.infer<typeof contact>;

/** A person in a list. */
export const listedContact = z.object({
  phone: z.string().describe('Phone number of the person: international digits, no `+`.'),
  ...contact.shape,
});
export const contactList = entriesOf(listedContact);

/** What contacts can be filtered by. */
export const CONTACT_KEYS = {
  contact: { description: 'the phone number' },
  network: { description: 'whether the number has an account on the network', values: ['yes', 'no'] },
} as const;
export type ContactKey = keyof typeof CONTACT_KEYS;

/** Query of `GET /contacts`. */
export const listContactsQuery = z.strictObject({ q: filterQuery(CONTACT_KEYS), ...sandboxPageQuery });

/** Body of `PUT /contacts/{phone}`. Absent fields stay unchanged. */
export const putContactRequest = z.strictObject(contact.shape).partial();
export type PutContactRequest = z.infer<typeof putContactRequest>;

/** Body of `POST /contacts/{phone}/messages`: the person writes to a connection. */
export const contactWritesRequest = z
  .strictObject({
    connectionId: id.describe('The connection that the person writes to.'),
    text: sendMessageRequest.shape.text.describe('The text that the person sends.'),
    media: z.strictObject(mediaObject.shape).optional().describe('The file that the person sends.'),
    times: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe('How many messages with this text arrive, all at the same moment. Defaults to 1.'),
  })
  .refine((body) => (body.text === undefined) !== (body.media === undefined), {
    message: 'must have exactly one of `text` and `media`',
    path: ['text'],
  })
  .refine((body) => body.media === undefined || body.times === undefined, {
    message: 'must not be given with `media`',
    path: ['times'],
  })
  .meta({ oneOf: [{ required: ['text'] }, { required: ['media'], not: { required: ['times'] } }] });
export type ContactWritesRequest = z.infer<typeof contactWritesRequest>;

export const contactWrote = z.object({
  messageId: id.describe(
    "Id of the message in the service's `GET /messages`; with `times`, of the last one.",
  ),
});
export type ContactWrote = z.infer<typeof contactWrote>;

/** A file as a phone received it. */
const receivedMedia = z.object({
  filename: z.string().describe('The file name, as sent.'),
  mimetype: z.string().describe('The MIME type, as sent.'),
  caption: z.string().nullable().optional().describe('The caption, as sent.'),
  bytes: z.int().min(0).describe('Size of the file in bytes.'),
  sha256: z.string().describe('SHA-256 of the file in hex, to compare with what was sent.'),
  voiceNote: z.boolean().optional().describe('Whether the phone plays it as a voice note.'),
});

/** A message that a phone actually received. */
export const phoneMessage = z.object({
  messageId: id.describe('The `messageId` that the send returned.'),
  connectionId: id.describe('The connection that sent it.'),
  from: z.string().describe('Number of the connection.'),
  text: z.string().nullable().describe('The text, or the caption of the file.'),
  media: receivedMedia.optional().describe('The file, if the message has one.'),
  at: dateTime.describe('When the phone received it, in virtual time.'),
});
export type PhoneMessage = z.infer<typeof phoneMessage>;

/** Oldest first. */
export const phoneMessageList = entriesOf(phoneMessage);
export type PhoneMessageList = z.infer<typeof phoneMessageList>;
