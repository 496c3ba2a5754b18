import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, text, unique } from 'drizzle-orm/pg-core';
import type { OutboundState } from '../../contract/connector/outbound.ts';
import { bytea, connectorSchema, epochMs } from './column-types.ts';

const UNFINISHED_STATES = ['queued', 'sending'] as const satisfies readonly OutboundState[];

/** SQL: the states of a send that has not ended. Literals, so that the index of queues serves them. */
export const UNFINISHED = `(${UNFINISHED_STATES.map((state) => `'${state}'`).join(', ')})`;

/** How far the clocks of the service and of this process may differ, and the time that a send may take. */
const ATTEMPT_MS = 10 * 60_000;

/**
 * SQL: a send of the connection of the row `message` may have made this message: its answer has not come, or was lost.
 */
export const mayBeOfSend = (message: string): string => `EXISTS (
    SELECT FROM connector.outbound s
     WHERE s.connection_id = ${message}.connection_id AND (s.in_doubt OR s.state = 'sending')
       AND ${message}.created_at >= s.first_attempt_at - ${ATTEMPT_MS}
       AND (s.state IN ${UNFINISHED} OR ${message}.created_at <= s.last_attempt_at + ${ATTEMPT_MS})
       AND (s.text IS NULL OR ${message}.text IS NULL OR s.text = ${message}.text))`;

/** Whether a send in this state has not ended. */
export function isUnfinished(state: OutboundState): state is (typeof UNFINISHED_STATES)[number] {
  return UNFINISHED_STATES.some((unfinished) => unfinished === state);
}

/**
 * The sends of the CRM. The unfinished ones of a connection are its queue: they are sent one after the other, in
 * the order of `position`. A row changes only under the lease of its queue, or while
 * it is `queued`.
 */
export const outbound = connectorSchema.table(
  'outbound',
  {
    id: text('id').primaryKey(),
    position: bigint('position', { mode: 'number' }).generatedAlwaysAsIdentity().notNull(),
    accountId: text('account_id').notNull(),
    connectionId: text('connection_id').notNull(),
    /** The CRM's own id, with a fingerprint of its content. */
    reference: text('reference').notNull(),
    fingerprint: text('fingerprint').notNull(),
    recipient: text('recipient').notNull(),
    text: text('text'),
    mediaFilename: text('media_filename'),
    mediaMimetype: text('media_mimetype'),
    mediaCaption: text('media_caption'),
    /** SHA-256 of the bytes, in hex. */
    mediaFingerprint: text('media_fingerprint'),
    idempotencyKey: text('idempotency_key').notNull(),
    state: text('state').$type<OutboundState>().notNull(),
    messageId: text('message_id'),
    attempts: integer('attempts').notNull().default(0),
    /** The attempt in progress. */
    attemptId: text('attempt_id'),
    /** With this idempotency key. */
    firstAttemptAt: epochMs('first_attempt_at'),
    lastAttemptAt: epochMs('last_attempt_at'),
    /** The answer of an attempt was lost, and no later answer has resolved the doubt. */
    inDoubt: boolean('in_doubt').notNull().default(false),
    lastError: text('last_error'),
    nextAttemptAt: epochMs('next_attempt_at'),
    /** It waits because the service was unavailable; the wait ends when the service answers its account again. */
    awaitsService: boolean('awaits_service').notNull().default(false),
    createdAt: epochMs('created_at').notNull(),
    updatedAt: epochMs('updated_at').notNull(),
  },
  (table) => [
    unique('outbound_reference').on(table.accountId, table.reference),
    index('outbound_queue')
      .on(table.connectionId, table.position)
      .where(sql`${table.state} in ${sql.raw(UNFINISHED)}`),
    /** Queues with new sends. The state comes first, so that no queue is read in the order of this index. */
    index('outbound_unfinished')
      .on(table.state, table.position)
      .where(sql`${table.state} in ${sql.raw(UNFINISHED)}`),
    /** Sends that may have made a message whose origin is not known. */
    index('outbound_unanswered')
      .on(table.connectionId)
      .where(sql`${table.inDoubt} or ${table.state} = 'sending'`),
    /** Whether a message is already the result of a send. */
    index('outbound_message')
      .on(table.connectionId, table.messageId)
      .where(sql`${table.messageId} is not null`),
    index('outbound_newest').on(table.createdAt.desc().nullsFirst(), table.id.desc().nullsFirst()),
    /** Lists by connection, by account, by state. */
    ...[
      { name: 'outbound_newest_of_connection', of: table.connectionId },
      { name: 'outbound_newest_of_account', of: table.accountId },
      { name: 'outbound_newest_of_state', of: table.state },
    ].map(({ name, of }) =>
      index(name).on(of, table.createdAt.desc().nullsFirst(), table.id.desc().nullsFirst()),
    ),
  ],
);

/** For drizzle: a send that has not ended. */
export const IS_UNFINISHED = sql`${outbound.state} in ${sql.raw(UNFINISHED)}`;

/** The files of sends that may still need them. */
export const outboundMedia = connectorSchema.table('outbound_media', {
  outboundId: text('outbound_id')
    .primaryKey()
    .references(() => outbound.id, { onDelete: 'cascade' }),
  bytes: bytea('bytes').notNull(),
});
