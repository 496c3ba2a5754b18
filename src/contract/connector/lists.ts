import { z } from 'zod';
import { optionalQueryInteger, queryInteger } from '../query.ts';

/** Bounds of `limit` in every list of the connector. */
export const CONNECTOR_PAGE = { min: 1, max: 1000, default: 50 } as const;

const nextCursor = z.string().nullable().describe('Give it as `cursor` to read on; null on the last page.');

/** An answer with one named list: `{ messages: […], nextCursor, hasMore }`. */
export function listOf<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  const list = { [name]: z.array(item) } as { [K in Name]: z.ZodArray<Item> };
  return z.object({ ...list, nextCursor, hasMore: z.boolean() });
}

/** Query fields of every list: `limit` and an opaque `cursor`. */
export const pageQuery = {
  limit: queryInteger(CONNECTOR_PAGE),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the page before.'),
};

/** Query field that picks an account; demanded where a call concerns one account and there are several. */
export const accountId = z.string().min(1).max(255);

/** Query of a call that concerns one account. */
export const accountQuery = z.strictObject({ accountId: accountId.optional() });

/**
 * `after` of the change feed: the last `seq` that the reader has taken. Absent or 0 reads from the start,
 * `latest` begins behind the newest change.
 */
export const afterSeq = z.union([z.literal('latest'), optionalQueryInteger({ min: 0 })], {
  error: 'must be a whole number, or `latest`',
});

/** Where the change feed stands. */
export const feedPosition = {
  feedId: z
    .string()
    .describe('Names the feed. Another one than before: the numbers began anew, so read it from the start.'),
  lastSeq: z.int().min(0).describe('The number of the newest change.'),
};
