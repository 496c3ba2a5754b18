import { text } from 'drizzle-orm/pg-core';
import { platformSchema } from './platform-schema.ts';

/** What the sandbox finds again after a restart, as JSON by name. The service itself never reads it. */
export const sandboxState = platformSchema.table('sandbox_state', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});
