import { integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { epochMs, platformSchema } from './column-types.ts';
import { bytea } from './core-tables.ts';

/**
 * Files of messages, in both directions. The id is the secret part of the file's address: it is random, and only the
 * address in the message contains it.
 */
export const media = platformSchema.table('media', {
  id: text('id').primaryKey(),
  filename: text('filename').notNull(),
  mimetype: text('mimetype').notNull(),
  bytes: integer('bytes').notNull(),
  sha256: bytea('sha256').notNull(),
  createdAt: epochMs('created_at').notNull(),
});

/**
 * The bytes of files, in pieces of one size. They are written while the request is being received, before it is
 * accepted: pieces without a row in `media` belong to a request in progress or to a refused one.
 */
export const mediaChunks = platformSchema.table(
  'media_chunks',
  {
    mediaId: text('media_id').notNull(),
    place: integer('place').notNull(),
    bytes: bytea('bytes').notNull(),
  },
  (table) => [primaryKey({ columns: [table.mediaId, table.place] })],
);
