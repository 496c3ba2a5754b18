import { bigint, boolean, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/** One row, created when handlers run on this database for the first time. */
export const dispatch = connectorSchema.table('dispatch', {
  only: boolean('only').primaryKey().default(true),
  /** Every change up to this `seq` was added to the queue of its connection, or precedes the start of dispatch. */
  cursor: bigint('cursor', { mode: 'number' }).notNull(),
});

/**
 * The queues of dispatch, by connection. A row refers to its change and is deleted when the change was accepted
 * or set aside, so the table contains what is still to be done.
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

/**
 * A connection that has ever had a change to dispatch. The counts are updated by the statements that change
 * them.
 */
export const dispatchQueues = connectorSchema.table('dispatch_queues', {
  connectionId: text('connection_id').primaryKey(),
  /** Number of its rows in the queue. */
  waiting: integer('waiting').notNull(),
  /** Number of its dead letters. */
  setAside: integer('set_aside').notNull().default(0),
  /**
   * When its first change may be called. Null: its queue is empty. Not indexed: reading 10,000 queues takes 0.6 ms,
   * every few seconds, and an index makes each step of a queue a quarter more expensive.
   */
  dueAt: epochMs('due_at'),
  /**
   * The fencing token of the current run; every write of a run names it. It remains if the process of the run
   * dies.
   */
  runFence: bigint('run_fence', { mode: 'number' }),
});

/** Changes that the handler failed to process. */
export const deadLetters = connectorSchema.table('dead_letters', {
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  connectionId: text('connection_id').notNull(),
  batch: bigint('batch', { mode: 'number' }).notNull(),
  position: integer('position').notNull(),
  attempts: integer('attempts').notNull(),
  lastError: text('last_error').notNull(),
  at: epochMs('at').notNull(),
});
