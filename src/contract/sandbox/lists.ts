import { z } from 'zod';
import { queryInteger } from '../schema/query.ts';

/** Bounds of `limit` for every list of the control API. */
export const SANDBOX_PAGE = { min: 1, max: 1000, default: 100 } as const;

/** A response with a list: `{ entries: […], nextCursor? }`; the last page has no `nextCursor`. */
export function entriesOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    entries: z.array(item).describe('One page of the list.'),
    nextCursor: z
      .string()
      .optional()
      .describe('Pass it as `cursor` to get the next page; absent on the last page.'),
  });
}

/** Query field of a list that can be read from either end. */
export const sandboxOrder = z
  .enum(['oldest', 'newest'])
  .default('oldest')
  .describe('Which entries come first: `oldest` (default) or `newest`.');

/** Query fields of a list. */
export const sandboxPageQuery = {
  limit: queryInteger(SANDBOX_PAGE).describe('Maximum number of entries to list.'),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the previous page.'),
};
