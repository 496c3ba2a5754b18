import { bigint, customType, pgSchema } from 'drizzle-orm/pg-core';

/** The Postgres schema that holds everything of the connector. */
export const connectorSchema = pgSchema('connector');

/** A time in epoch milliseconds. Never made by the database: every time comes from a clock or a payload. */
export const epochMs = (name: string) => bigint(name, { mode: 'number' });

/** Bytes: a `Buffer` in a row, any `Uint8Array` as a parameter. */
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });
