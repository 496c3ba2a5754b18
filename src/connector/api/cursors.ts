import { z } from 'zod';
import { invalid } from './api-error.ts';

/**
 * A cursor is the sort key of the last element of a page, encoded so that clients treat it as opaque. It
 * marks a position and grants nothing: every page is filtered anew.
 */
export function encodeCursor(key: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** As an id, it contains no NUL, which the database refuses. */
const id = z.string().regex(/^[^\0]{0,255}$/);

/** Sort keys of the lists. */
export const MESSAGE_KEY = z.tuple([z.int(), id, id]);
export const CONNECTION_KEY = z.tuple([id]);
export const OUTBOUND_KEY = z.tuple([z.int(), id]);
export const ACCOUNT_KEY = z.tuple([z.int(), id]);
export const CONSUMER_KEY = z.tuple([id]);
export const DEAD_LETTER_KEY = z.tuple([z.int(), id]);

/** Decodes one of our cursors; null if there is none. Throws an `ApiError` for anything else. */
export function decodeCursor<Key>(schema: z.ZodType<Key>, cursor: string | undefined): Key | null {
  if (cursor === undefined) return null;
  const key = schema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!key.success || Buffer.from(JSON.stringify(key.data)).toString('base64url') !== cursor) {
    throw invalid('cursor', 'is not a cursor of this list');
  }
  return key.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Builds one page from rows that were queried with one more than the limit. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => readonly (string | number)[],
): { page: readonly Row[]; nextCursor: string | null; hasMore: boolean } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return { page, hasMore, nextCursor: hasMore ? encodeCursor(keyOf(last)) : null };
}
