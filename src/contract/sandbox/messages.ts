import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { DIRECTIONS, direction, MESSAGE_STATUSES, messageStatus } from '../service/statuses.ts';
import { filterQuery } from './filter.ts';
import { entriesOf, sandboxPageQuery } from './lists.ts';

/** A message as the service stores it. */
export const storedMessage = z.object({
  id: z.string().describe("Id of the message, as in the service's `GET /messages`."),
  workspaceId: z.string().describe('The workspace of its connection.'),
  connectionId: z.string().describe('The connection that sent or received it.'),
  direction: direction.describe('`incoming` or `outgoing`.'),
  peer: z.string().describe('Phone number of the contact.'),
  text: z.string().nullable().describe('The text, or the caption of the file.'),
  mediaType: z.string().nullable().describe('The MIME type of the file; null for a text message.'),
  filename: z.string().nullable().describe('The name of the file; null for a text message.'),
  status: messageStatus.describe('The current status.'),
  errorMessage: z.string().nullable().describe('Why the message failed.'),
  waMessageId: z.string().nullable().describe('The id of the message on the network.'),
  createdAt: dateTime.describe('When the message was created, in virtual time.'),
});
export type StoredMessage = z.infer<typeof storedMessage>;

/** Newest first. */
export const storedMessageList = entriesOf(storedMessage);

/** What messages can be filtered by. */
export const MESSAGE_KEYS = {
  status: { description: 'the status', values: MESSAGE_STATUSES },
  direction: { description: 'the direction', values: DIRECTIONS },
  message: { description: 'the id of the message' },
  workspace: { description: 'the workspace' },
  connection: { description: 'the connection' },
  contact: { description: 'the phone number of the contact' },
  media: { description: 'the MIME type of the file' },
} as const;
export type MessageKey = keyof typeof MESSAGE_KEYS;

/** Query of `GET /messages`. */
export const listStoredMessagesQuery = z.strictObject({ q: filterQuery(MESSAGE_KEYS), ...sandboxPageQuery });
