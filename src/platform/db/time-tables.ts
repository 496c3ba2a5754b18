import { bigint, index, smallint, text } from 'drizzle-orm/pg-core';
import { epochMs, platformSchema } from './column-types.ts';
import { bytea } from './core-tables.ts';

/** State that a reset keeps: one row with the offset of virtual time and the key that encrypts cursors. */
export const serviceState = platformSchema.table('service_state', {
  id: smallint('id').primaryKey(),
  clockOffsetMs: bigint('clock_offset_ms', { mode: 'number' }).notNull(),
  /** Virtual time at which the clock is frozen; null while it runs. */
  frozenAt: epochMs('frozen_at'),
  cursorKey: bytea('cursor_key').notNull(),
});

/** Timers on virtual time. They fire in the order of `due_at`, then `id`. */
export const timers = platformSchema.table(
  'timers',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    dueAt: epochMs('due_at').notNull(),
    kind: text('kind').notNull(),
    /** JSON that only the handler of the kind reads. */
    payload: text('payload').notNull(),
  },
  (table) => [index('timers_due').on(table.dueAt, table.id)],
);
