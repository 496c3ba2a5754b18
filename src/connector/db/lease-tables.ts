import { bigint, boolean, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/** The living processes. A process that gave no sign of life for a while is removed by another one: that is its death. */
export const processes = connectorSchema.table('processes', {
  id: text('id').primaryKey(),
  /** Its machine, whose clock it shares with the other processes there. */
  host: text('host').notNull(),
  /** It polls and sends; false for a process that only serves requests. */
  works: boolean('works').notNull(),
  /** Rises with each sign of life. */
  beats: bigint('beats', { mode: 'number' }).notNull().default(0),
  startedAt: epochMs('started_at').notNull(),
  /** The last sign of life, on the clock of its machine. */
  beatAt: epochMs('beat_at').notNull(),
});

/** Work under way, each piece done by one process at a time. A row goes when its work ends. */
export const leases = connectorSchema.table('leases', {
  name: text('name').primaryKey(),
  /** Held while this process is among the living ones. */
  owner: text('owner').notNull(),
  /** New with each holder, and never used again; guarded writes name it. */
  fence: bigint('fence', { mode: 'number' }).generatedAlwaysAsIdentity(),
});
