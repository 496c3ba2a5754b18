/*
 * All tables of the connector that the ORM knows. The raw inbox is partitioned, which the ORM cannot express: a
 * migration creates it by hand, together with the functions.
 */
export * from './account-tables.ts';
export { connectorSchema } from './column-types.ts';
export * from './consumer-tables.ts';
export * from './feed-tables.ts';
export * from './message-tables.ts';
export * from './outbox-tables.ts';
export * from './process-tables.ts';
export * from './sync-tables.ts';
