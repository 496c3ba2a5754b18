export * from './core-tables.ts';
export * from './message-tables.ts';
export * from './network-tables.ts';
export { platformSchema } from './platform-schema.ts';
export * from './sandbox-tables.ts';
export * from './session-tables.ts';
export * from './time-tables.ts';
export * from './webhook-tables.ts';
