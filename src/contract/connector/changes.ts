import { z } from 'zod';
import { queryInteger } from '../query.ts';
import { dateTime, identifier } from '../service/fields.ts';
import { messageStatus } from '../service/statuses.ts';
import { connectorConnection } from './connections.ts';
import {
  accountId,
  afterSeq,
  CONNECTOR_PAGE,
  feedPosition,
  listOf,
  ofAccount,
  ofConnection,
} from './lists.ts';
import { connectorMessage } from './messages.ts';
import { outbound } from './outbound.ts';

/** The types of change in the feed. */
export const CHANGE_TYPES = [
  'message.created',
  'message.status',
  'message.updated',
  'connection.updated',
  'outbound.updated',
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** A message as it stood after the change. The customer is left out: it belongs to the connection. */
export const messageChangeData = connectorMessage.omit({ customerRef: true });
export type MessageChangeData = z.infer<typeof messageChangeData>;

/** `data` of a status change: the status now, and the one before (null: none was known). */
export const statusChangeData = z.object({
  status: messageStatus.describe('The status now: `sent`, `delivered`, `read` or `failed`. It never falls.'),
  previous: messageStatus
    .nullable()
    .describe('The one before: `sent`, `delivered`, `read` or `failed`; null: none was known.'),
});
export type StatusChangeData = z.infer<typeof statusChangeData>;

/** A connection as it stood after the change, without what is derived when it is read. */
export const connectionChangeData = connectorConnection.omit({ health: true, lastContactAt: true }).extend({
  changed: z
    .array(z.string())
    .nullable()
    .describe(
      'The fields that differ from before; null: the connection was not known, or not listed, before.',
    ),
});
export type ConnectionChangeData = z.infer<typeof connectionChangeData>;

const head = {
  seq: z.int().min(1).describe('Position in the feed. Keep the last one; nothing is skipped after it.'),
  at: dateTime.describe('When the connector wrote the change, by its own clock.'),
  accountId,
  connectionId: identifier.describe(
    'The connection that changed, or that the message or the send belongs to.',
  ),
};
const ofMessage = { ...head, messageId: identifier.describe('Id of the message, as the service gave it.') };

/** One change, told apart by `type`. */
export const change = z.discriminatedUnion('type', [
  z.object({
    ...ofMessage,
    type: z
      .literal('message.created')
      .describe('A message became known. It comes once for a message, and first.'),
    data: messageChangeData.describe('The message as it stood after the change.'),
  }),
  z.object({
    ...ofMessage,
    type: z.literal('message.status').describe('The status of an outgoing message rose, or became `failed`.'),
    data: statusChangeData.describe('The status, and the one before.'),
  }),
  z.object({
    ...ofMessage,
    type: z
      .literal('message.updated')
      .describe('Something of a message is known that was not before, such as its sender or its file.'),
    data: messageChangeData.describe('The message as it stood after the change.'),
  }),
  z.object({
    ...head,
    type: z
      .literal('connection.updated')
      .describe('A connection became known, or one of its fields changed.'),
    data: connectionChangeData.describe('The connection as it stood after the change.'),
  }),
  z.object({
    ...head,
    type: z.literal('outbound.updated').describe('A send was queued, or its state or next attempt changed.'),
    messageId: identifier
      .optional()
      .describe('The message that the send became; absent until that is known.'),
    data: outbound.describe('The send as it stood after the change.'),
  }),
]);
export type Change = z.infer<typeof change>;

/** Query of `GET /v1/changes`. */
export const listChangesQuery = z.strictObject({
  after: afterSeq,
  limit: queryInteger(CONNECTOR_PAGE).describe('At most so many changes on a page.'),
  accountId: ofAccount,
  connectionId: ofConnection,
});
export type ListChangesQuery = z.infer<typeof listChangesQuery>;

/** Query of `GET /v1/changes/stream`; the header `Last-Event-ID` wins over `after`. */
export const streamChangesQuery = z.strictObject({
  after: afterSeq,
  accountId: ofAccount,
  connectionId: ofConnection,
});
export type StreamChangesQuery = z.infer<typeof streamChangesQuery>;

/**
 * Changes in order. `nextCursor` is to be given as `after`; null when there is no more yet. With a filter a page may
 * end early, and hold nothing, although there is more: go on from `nextCursor`.
 */
export const changeList = listOf('changes', change).extend({
  nextCursor: z
    .string()
    .nullable()
    .describe('Give it as `after` to read on; null when there is no more yet. Keep the last `seq` then.'),
  hasMore: z
    .boolean()
    .describe('Whether more follows. With a filter it can be true of a page that holds little or nothing.'),
  ...feedPosition,
});
export type ChangeList = z.infer<typeof changeList>;

/** A change that the CRM's handler could not take. */
export const deadLetter = z.object({
  id: identifier.describe('The key that the handler is given with the change.'),
  change: change.describe('The change as the handler was given it.'),
  attempts: z.int().min(1).describe('How often the handler was called with it, replays included.'),
  lastError: z
    .string()
    .describe(
      'Type, message and line of what the handler threw last, without what the change holds and without long runs of digits.',
    ),
  at: dateTime.describe(
    'When it was set aside. It is forgotten 90 days later; the change stays in the feed.',
  ),
});
export type DeadLetter = z.infer<typeof deadLetter>;

export const deadLetterList = listOf('deadLetters', deadLetter);
export type DeadLetterList = z.infer<typeof deadLetterList>;
