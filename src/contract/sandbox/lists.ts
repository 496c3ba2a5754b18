import { z } from 'zod';
import { queryInteger } from '../query.ts';

/** Bounds of `limit` in every list of the control API. */
export const SANDBOX_PAGE = { min: 1, max: 1000, default: 100 } as const;

/** An answer with a list: `{ entries: […], nextCursor? }`; no `nextCursor` on the last page. */
export function entriesOf<Item extends z.ZodType>(item: Item) {
  return z.object({ entries: z.array(item), nextCursor: z.string().optional() });
}

/** Query fields of a list. */
export const sandboxPageQuery = {
  limit: queryInteger(SANDBOX_PAGE),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the page before.'),
};
