import { z } from 'zod';
import { queryInteger } from '../query.ts';
import { dateTime, identifier } from '../service/fields.ts';
import { messageStatus } from '../service/statuses.ts';
import { connectorConnection } from './connections.ts';
import { accountId, afterSeq, CONNECTOR_PAGE, feedPosition, listOf } from './lists.ts';
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
export const statusChangeData = z.object({ status: messageStatus, previous: messageStatus.nullable() });
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
  at: dateTime,
  accountId,
  connectionId: identifier,
};
const ofMessage = { ...head, messageId: identifier };

/** One change, told apart by `type`. */
export const change = z.discriminatedUnion('type', [
  z.object({ ...ofMessage, type: z.literal('message.created'), data: messageChangeData }),
  z.object({ ...ofMessage, type: z.literal('message.status'), data: statusChangeData }),
  z.object({ ...ofMessage, type: z.literal('message.updated'), data: messageChangeData }),
  z.object({ ...head, type: z.literal('connection.updated'), data: connectionChangeData }),
  z.object({
    ...head,
    type: z.literal('outbound.updated'),
    messageId: identifier.optional(),
    data: outbound,
  }),
]);
export type Change = z.infer<typeof change>;

/** Query of `GET /v1/changes`. */
export const listChangesQuery = z.strictObject({
  after: afterSeq,
  limit: queryInteger(CONNECTOR_PAGE),
  accountId: accountId.optional(),
  connectionId: z.string().min(1).max(255).optional(),
});
export type ListChangesQuery = z.infer<typeof listChangesQuery>;

/** Query of `GET /v1/changes/stream`; the header `Last-Event-ID` wins over `after`. */
export const streamChangesQuery = z.strictObject({
  after: afterSeq,
  accountId: accountId.optional(),
  connectionId: z.string().min(1).max(255).optional(),
});
export type StreamChangesQuery = z.infer<typeof streamChangesQuery>;

/**
 * Changes in order. `nextCursor` is to be given as `after`; null when there is no more yet. With a filter a page may
 * end early, and hold nothing, although there is more: go on from `nextCursor`.
 */
export const changeList = listOf('changes', change).extend(feedPosition);
export type ChangeList = z.infer<typeof changeList>;

/** A change that the CRM's handler could not take. */
export const deadLetter = z.object({
  id: identifier.describe('The key that the handler is given with the change.'),
  change,
  attempts: z.int().min(1),
  lastError: z.string(),
  at: dateTime,
});
export type DeadLetter = z.infer<typeof deadLetter>;

export const deadLetterList = listOf('deadLetters', deadLetter);
export type DeadLetterList = z.infer<typeof deadLetterList>;
