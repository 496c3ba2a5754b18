import { bigint, pgSchema } from 'drizzle-orm/pg-core';

/** The Postgres schema of all tables of the service. The tables are in the files named `*-tables.ts`. */
export const platformSchema = pgSchema('platform');

/** Virtual time in epoch milliseconds. Never a database time: all times come from the domain clock. */
export const epochMs = (name: string) => bigint(name, { mode: 'number' });
