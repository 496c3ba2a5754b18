import { bigint, boolean, doublePrecision, primaryKey, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * The living processes. A process without a heartbeat for a while is removed by another one, which frees its
 * leases.
 */
export const processes = connectorSchema.table('processes', {
  id: text('id').primaryKey(),
  /** Name of its machine, for people: other machines may have the same name. */
  host: text('host').notNull(),
  /** It polls and sends; false for a process that only serves requests. */
  works: boolean('works').notNull(),
  /** It has handlers, whether they are paused or not. */
  handles: boolean('handles').notNull().default(false),
  /** Increases with each heartbeat. */
  beats: bigint('beats', { mode: 'number' }).notNull().default(0),
  startedAt: epochMs('started_at').notNull(),
  /** The last heartbeat, on its own clock: for people. Only `beats` shows whether it lives. */
  beatAt: epochMs('beat_at').notNull(),
});

/** Leases for work that one process does at a time. A row is deleted when the work ends. */
export const leases = connectorSchema.table('leases', {
  name: text('name').primaryKey(),
  /** Valid while this process is in the table of processes. */
  owner: text('owner').notNull(),
  /** New with each owner, and never reused; guarded writes name it. */
  fence: bigint('fence', { mode: 'number' }).generatedAlwaysAsIdentity(),
});

/**
 * The receiver's counts for each hour, over all processes: how often, when last, and the related milliseconds.
 * Only for diagnosis. Counted in memory and added periodically, kept for two days.
 */
export const receiverTallies = connectorSchema.table(
  'receiver_tallies',
  {
    /** The beginning of the hour, on our clock. */
    hour: epochMs('hour').notNull(),
    /** Empty if none was named or known. */
    subscriptionId: text('subscription_id').notNull(),
    kind: text('kind').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    lastAt: epochMs('last_at').notNull(),
    totalMs: bigint('total_ms', { mode: 'number' }).notNull(),
    minMs: bigint('min_ms', { mode: 'number' }).notNull(),
    maxMs: bigint('max_ms', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'receiver_tallies_pkey', columns: [table.hour, table.subscriptionId, table.kind] }),
  ],
);

/**
 * What all processes counted, an hour by the minute and a day by the quarter of an hour: for people, not for decisions.
 * See `statistics/series.ts`.
 */
export const statistics = connectorSchema.table(
  'statistics',
  {
    /** Its length in milliseconds: a minute, or a quarter of an hour. */
    step: bigint('step', { mode: 'number' }).notNull(),
    /** Its beginning, on our clock. */
    slot: epochMs('slot').notNull(),
    series: text('series').notNull(),
    /** The sum of what was counted, or the highest level that was seen. */
    value: doublePrecision('value').notNull(),
  },
  (table) => [primaryKey({ name: 'statistics_pkey', columns: [table.step, table.slot, table.series] })],
);

/** The newest requests to the receiver, accepted and refused, without their bodies: for people. See `inbox/answer-log.ts`. */
export const answers = connectorSchema.table('answers', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  at: epochMs('at').notNull(),
  /** From the headers of the request to its answer. */
  ms: bigint('ms', { mode: 'number' }).notNull(),
  /** Empty if none was named or known. */
  subscriptionId: text('subscription_id').notNull(),
  /** Why it was refused; null if it was accepted. */
  refusal: text('refusal'),
  /** Of an accepted one, as far as it could be read. */
  event: text('event'),
  connectionId: text('connection_id'),
  messageId: text('message_id'),
});
