import { sql } from 'drizzle-orm';
import { index, integer, text, unique } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/**
 * Requests of the CRM to create a connection, committed before the service is asked. Created when it has a
 * `connection_id`; else in doubt while `unsettled` is above 0; else nothing was created.
 */
export const creations = connectorSchema.table(
  'creations',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** The CRM's own key; null: it gave none. */
    requestKey: text('request_key'),
    label: text('label'),
    /** What the service is asked under. */
    idempotencyKey: text('idempotency_key').notNull(),
    /** With this idempotency key. */
    firstAttemptAt: epochMs('first_attempt_at'),
    /** Attempts that may have created it: begun, and not ended with a refusal. */
    unsettled: integer('unsettled').notNull().default(0),
    connectionId: text('connection_id'),
    /** Free slots before it was created; null: not known. */
    slotsAvailable: integer('slots_available'),
    lastError: text('last_error'),
    /** When it is attempted again by itself; null: not at all. */
    nextAttemptAt: epochMs('next_attempt_at'),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    unique('creations_request').on(table.accountId, table.requestKey),
    index('creations_due').on(table.nextAttemptAt).where(sql`${table.nextAttemptAt} is not null`),
  ],
);
