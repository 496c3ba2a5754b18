import { z } from 'zod';
import { optionalQueryInteger, queryInteger } from '../query.ts';

/** Bounds of `limit` in every list of the connector. */
export const CONNECTOR_PAGE = { min: 1, max: 1000, default: 50 } as const;

const nextCursor = z.string().nullable().describe('Give it as `cursor` to read on; null on the last page.');
const hasMore = z.boolean().describe('Whether more follows; `nextCursor` is null if not.');

/** An answer with one named list: `{ messages: […], nextCursor, hasMore }`. */
export function listOf<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  const page = z.array(item).describe('One page of the list; empty when nothing fits.');
  const list = { [name]: page } as { [K in Name]: z.ZodArray<Item> };
  return z.object({ ...list, nextCursor, hasMore });
}

/** Query fields of every list: `limit` and an opaque `cursor`. */
export const pageQuery = {
  limit: queryInteger(CONNECTOR_PAGE).describe('At most so many entries on a page.'),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the page before.'),
};

/** The account that something belongs to. */
export const accountId = z.string().min(1).max(255).describe('Id of the account, as in `GET /v1/accounts`.');

/** Id of a connection as a filter or in a body. */
export const connectionId = z
  .string()
  .min(1)
  .max(255)
  .describe('Id of the connection, as the service gave it.');

/** Query fields that narrow a list. */
export const ofAccount = accountId
  .optional()
  .describe('Only what belongs to this account. Absent: all accounts.');
export const ofConnection = connectionId
  .optional()
  .describe('Only what belongs to this connection. Absent: all of them.');

/** Picks the account of a call that concerns one. */
export const chosenAccount = accountId
  .optional()
  .describe(
    'The account that the call concerns. May be absent while there is only one; several: 400 `account_required`.',
  );

/** Query of a call that concerns one connection, and so one account. */
export const accountQuery = z.strictObject({
  accountId: accountId
    .optional()
    .describe(
      'Account of the connection. Needed only for a connection that the connector does not know yet, when there are several accounts.',
    ),
});

/**
 * `after` of the change feed: the last `seq` that the reader has taken. Absent or 0 reads from the start,
 * `latest` begins behind the newest change.
 */
export const afterSeq = z
  .union([z.literal('latest'), optionalQueryInteger({ min: 0 })], {
    error: 'must be a whole number, or `latest`',
  })
  .describe(
    'The last `seq` that was taken: changes behind it follow. Absent or 0: from the start. `latest`: only what is still to come.',
  );

/** Where the change feed stands. */
export const feedPosition = {
  feedId: z
    .string()
    .describe('Names the feed. Another one than before: the numbers began anew, so read it from the start.'),
  lastSeq: z.int().min(0).describe('The number of the newest change.'),
};
