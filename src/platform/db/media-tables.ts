import { integer, text } from 'drizzle-orm/pg-core';
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
 * The bytes of files. They are written before a send is accepted: bytes without a row in `media` belong to a request in
 * progress or to a refused one.
 */
export const mediaBytes = platformSchema.table('media_bytes', {
  mediaId: text('media_id').primaryKey(),
  bytes: bytea('bytes').notNull(),
});
