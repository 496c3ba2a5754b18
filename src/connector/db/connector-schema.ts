import { bigint, pgSchema } from 'drizzle-orm/pg-core';

/** The Postgres schema that holds everything of the connector. */
export const connectorSchema = pgSchema('connector');

/** A time in epoch milliseconds. Never made by the database: every time comes from a clock or a payload. */
export const epochMs = (name: string) => bigint(name, { mode: 'number' });
