import { sql } from 'drizzle-orm';
import { index, integer, text, unique } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * Requests of the CRM to create a connection, committed before the service is called. The connection was
 * created if `connection_id` is set; otherwise it is in doubt while `unsettled` is above 0; otherwise nothing
 * was created.
 */
export const creations = connectorSchema.table(
  'creations',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** The CRM's own key; null if it gave none. */
    requestKey: text('request_key'),
    label: text('label'),
    /** The key that is sent to the service. */
    idempotencyKey: text('idempotency_key').notNull(),
    /** With this idempotency key. */
    firstAttemptAt: epochMs('first_attempt_at'),
    /** Attempts that may have created the connection: started, and not ended with a refusal. */
    unsettled: integer('unsettled').notNull().default(0),
    connectionId: text('connection_id'),
    /** Free slots before it was created; null if unknown. */
    slotsAvailable: integer('slots_available'),
    lastError: text('last_error'),
    /** When it is attempted again automatically; null for never. */
    nextAttemptAt: epochMs('next_attempt_at'),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    unique('creations_request').on(table.accountId, table.requestKey),
    index('creations_due').on(table.nextAttemptAt).where(sql`${table.nextAttemptAt} is not null`),
  ],
);
