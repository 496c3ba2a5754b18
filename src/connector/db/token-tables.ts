import { text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * Which API tokens the settings contained at the last start, so that the next start can report what has
 * changed: see `api/loaded-tokens.ts`. One row. It contains no token, only digests, which are sealed.
 */
export const loadedTokens = connectorSchema.table('loaded_tokens', {
  id: text('id').primaryKey(),
  sealedTokens: text('sealed_tokens'),
  loadedAt: epochMs('loaded_at').notNull(),
});
