import { z } from 'zod';
import { queryInteger } from '../query.ts';

/** Bounds of `limit` in every list of the control API. */
export const SANDBOX_PAGE = { min: 1, max: 1000, default: 100 } as const;

/** An answer with a list: `{ entries: […], nextCursor? }`; no `nextCursor` on the last page. */
export function entriesOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    entries: z.array(item).describe('One page of the list.'),
    nextCursor: z.string().optional().describe('Asks for the next page; absent on the last one.'),
  });
}

/** Query fields of a list. */
export const sandboxPageQuery = {
  limit: queryInteger(SANDBOX_PAGE).describe('How many entries to list.'),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the page before.'),
};
