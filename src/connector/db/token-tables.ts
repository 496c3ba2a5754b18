import { text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/**
 * Which tokens of the API the settings named at the last start, so that the next one can tell what has changed: see
 * `api/loaded-tokens.ts`. One row. No token is stored here, only digests, and these are sealed.
 */
export const loadedTokens = connectorSchema.table('loaded_tokens', {
  id: text('id').primaryKey(),
  sealedTokens: text('sealed_tokens'),
  loadedAt: epochMs('loaded_at').notNull(),
});
