import { bigint, boolean, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/** One row, made when handlers run on this database for the first time. */
export const dispatch = connectorSchema.table('dispatch', {
  only: boolean('only').primaryKey().default(true),
  /** Every change up to this `seq` has been given to the queue of its connection, or came before the beginning. */
  cursor: bigint('cursor', { mode: 'number' }).notNull(),
});

/**
 * Changes on their way to the handler, by connection. A row points at its change and goes when the change was
 * taken or set aside, so that what is here is what is still to be done.
 */
export const dispatchEntries = connectorSchema.table(
  'dispatch_entries',
  {
    connectionId: text('connection_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    batch: bigint('batch', { mode: 'number' }).notNull(),
    position: integer('position').notNull(),
    /** Calls that failed. */
    attempts: integer('attempts').notNull().default(0),
  },
  (table) => [primaryKey({ name: 'dispatch_entries_pkey', columns: [table.connectionId, table.seq] })],
);

/** A connection that ever had a change to dispatch. Counts are kept in the statements that change them. */
export const dispatchQueues = connectorSchema.table('dispatch_queues', {
  connectionId: text('connection_id').primaryKey(),
  /** Its rows in the queue. */
  waiting: integer('waiting').notNull(),
  /** Its dead letters. */
  setAside: integer('set_aside').notNull().default(0),
  /** When its first change may be called. Null: nothing waits. */
  dueAt: epochMs('due_at'),
  /** The fence of the run that works here; every write of a run names it. Left behind by one that died. */
  runFence: bigint('run_fence', { mode: 'number' }),
});

/** Changes that the handler could not take. */
export const deadLetters = connectorSchema.table('dead_letters', {
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  connectionId: text('connection_id').notNull(),
  batch: bigint('batch', { mode: 'number' }).notNull(),
  position: integer('position').notNull(),
  attempts: integer('attempts').notNull(),
  lastError: text('last_error').notNull(),
  at: epochMs('at').notNull(),
});
