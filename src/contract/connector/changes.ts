import { z } from 'zod';
import { queryInteger } from '../schema/query.ts';
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
import { connectorMessage, historic } from './messages.ts';
import { outbound } from './outbound.ts';

/** The types of change in the feed. */
export const CHANGE_TYPES = [
  'message.created',
  'message.status',
  'message.updated',
  'connection.updated',
  'outbound.updated',
  'person.erased',
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** A message as it was after the change. The customer is omitted because it belongs to the connection. */
export const messageChangeData = connectorMessage.omit({ customerRef: true });
export type MessageChangeData = z.infer<typeof messageChangeData>;

/** `data` of a status change: the current status and the previous one (null if none was known). */
export const statusChangeData = z.object({
  status: messageStatus.describe(
    'The current status: `sent`, `delivered`, `read` or `failed`. A status never moves backwards.',
  ),
  previous: messageStatus
    .nullable()
    .describe('The previous status: `sent`, `delivered`, `read` or `failed`; null if none was known.'),
  historic: historic.describe('Whether the message is historic.'),
});
export type StatusChangeData = z.infer<typeof statusChangeData>;

/** A connection as it was after the change, without the fields that are computed on read. */
export const connectionChangeData = connectorConnection.omit({ health: true, lastContactAt: true }).extend({
  status: connectorConnection.shape.status.describe(
    'Status as reported by the service: `connecting`, `disconnected`, or `open` or `connected` for a live connection. Accept any value.',
  ),
  changed: z
    .array(z.string())
    .nullable()
    .describe('The fields that changed; null if the connection was not known, or not listed, before.'),
});
export type ConnectionChangeData = z.infer<typeof connectionChangeData>;

/** What was erased. It names nobody. */
export const personErasedData = z.object({
  messageIds: z
    .array(identifier)
    .describe('Messages of the person, up to 500. Delete what you keep of them.'),
  outboundIds: z.array(identifier).describe('Sends to the person.'),
});
export type PersonErasedData = z.infer<typeof personErasedData>;

const head = {
  seq: z
    .int()
    .min(1)
    .describe(
      'Position in the feed. Numbers rise, and jump after a failover or a restore of the database. Keep the last one that you processed; no change after it is skipped.',
    ),
  at: dateTime.describe("When the connector wrote the change, by the connector's clock."),
  accountId,
  connectionId: identifier.describe(
    'The connection that changed, or the one that the message or send belongs to.',
  ),
};
const ofMessage = { ...head, messageId: identifier.describe('Id of the message, assigned by the service.') };

/** One change, discriminated by `type`. */
export const change = z.discriminatedUnion('type', [
  z.object({
    ...ofMessage,
    type: z
      .literal('message.created')
      .describe('A message became known. This is the first change of every message and occurs once.'),
    data: messageChangeData.describe('The message as it was after the change.'),
  }),
  z.object({
    ...ofMessage,
    type: z
      .literal('message.status')
      .describe('The status of an outgoing message advanced, or became `failed`.'),
    data: statusChangeData.describe('The current and the previous status.'),
  }),
  z.object({
    ...ofMessage,
    type: z
      .literal('message.updated')
      .describe('A detail of a message became known, such as its sender, its file or its exact time.'),
    data: messageChangeData.describe('The message as it was after the change.'),
  }),
  z.object({
    ...head,
    type: z
      .literal('connection.updated')
      .describe('A connection became known, or one of its fields changed.'),
    data: connectionChangeData.describe('The connection as it was after the change.'),
  }),
  z.object({
    ...head,
    type: z
      .literal('outbound.updated')
      .describe('A send was queued, or its state or its next attempt changed.'),
    messageId: identifier
      .optional()
      .describe('The message that resulted from the send; absent until it is known.'),
    data: outbound.describe('The send as it was after the change.'),
  }),
  z.object({
    ...head,
    type: z
      .literal('person.erased')
      .describe(
        'A person was erased (`DELETE /v1/people/{id}`). Earlier changes no longer contain their texts.',
      ),
    data: personErasedData.describe('Their messages and sends. There is a change for each connection.'),
  }),
]);
export type Change = z.infer<typeof change>;

/** Query of `GET /v1/changes`. */
export const listChangesQuery = z.strictObject({
  after: afterSeq,
  limit: queryInteger(CONNECTOR_PAGE).describe('Maximum number of changes on a page.'),
  accountId: ofAccount,
  connectionId: ofConnection,
});
export type ListChangesQuery = z.infer<typeof listChangesQuery>;

/** Query of `GET /v1/changes/stream`; the header `Last-Event-ID` takes precedence over `after`. */
export const streamChangesQuery = z.strictObject({
  after: afterSeq,
  accountId: ofAccount,
  connectionId: ofConnection,
});
export type StreamChangesQuery = z.infer<typeof streamChangesQuery>;

/**
 * Changes in order. Pass `nextCursor` as `after` to continue, at once if `hasMore`. With a filter, a page may be short
 * or empty although more changes follow.
 */
export const changeList = listOf('changes', change).extend({
  nextCursor: z
    .string()
    .describe(
      'Pass it as `after` to continue, now or later. With a filter it may be above the last `seq`: the changes between do not pass.',
    ),
  hasMore: z
    .boolean()
    .describe('Whether more changes follow. With a filter it can be true even for a short or empty page.'),
  ...feedPosition,
});
export type ChangeList = z.infer<typeof changeList>;

/** A change that the CRM's handler failed to process. */
export const deadLetter = z.object({
  id: identifier.describe('The idempotency key that the consumer receives with the change.'),
  consumer: identifier.describe('The consumer that failed to process the change; `handler` is the handler.'),
  change: change.describe('The change as the consumer received it.'),
  attempts: z.int().min(1).describe('How often the consumer was called with the change, replays included.'),
  lastError: z
    .string()
    .describe('Type, message and line of the last failure. The message may quote the change.'),
  at: dateTime.describe(
    'When the change was set aside. The entry is deleted after 90 days; the change stays in the feed.',
  ),
});
export type DeadLetter = z.infer<typeof deadLetter>;

export const deadLetterList = listOf('deadLetters', deadLetter);
export type DeadLetterList = z.infer<typeof deadLetterList>;
