import { z } from 'zod';
import { optionalQueryInteger, queryInteger } from '../schema/query.ts';

/** Bounds of `limit` for every list of the connector. */
export const CONNECTOR_PAGE = { min: 1, max: 1000, default: 50 } as const;

const nextCursor = z
  .string()
  .nullable()
  .describe('Pass it as `cursor` to get the next page; null on the last page.');
const hasMore = z.boolean().describe('Whether more entries follow; if not, `nextCursor` is null.');

/** A response with one named list: `{ messages: […], nextCursor, hasMore }`. */
export function listOf<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  const page = z.array(item).describe('One page of the list; empty if nothing matches.');
  const list = { [name]: page } as { [K in Name]: z.ZodArray<Item> };
  return z.object({ ...list, nextCursor, hasMore });
}

/** Query fields of every list: `limit` and an opaque `cursor`. */
export const pageQuery = {
  limit: queryInteger(CONNECTOR_PAGE).describe('Maximum number of entries on a page.'),
  cursor: z.string().min(1).max(1024).optional().describe('`nextCursor` of the previous page.'),
};

/** The account that an object belongs to. */
export const accountId = z.string().min(1).max(255).describe('Id of the account, as in `GET /v1/accounts`.');

/** Id of a connection, in a filter or a body. */
export const connectionId = z
  .string()
  .min(1)
  .max(255)
  .describe('Id of the connection, assigned by the service.');

/** Query fields that filter a list. */
export const ofAccount = accountId
  .optional()
  .describe('Only entries of this account. If absent, entries of all accounts.');
export const ofConnection = connectionId
  .optional()
  .describe('Only entries of this connection. If absent, entries of all connections.');

/** Selects the account for a call that concerns one account. */
export const chosenAccount = accountId
  .optional()
  .describe(
    'The account that the call concerns. It may be omitted while there is only one account; with several, the call fails with 400 `account_required`.',
  );

/** Query of a call that concerns one connection, and therefore one account. */
export const accountQuery = z.strictObject({
  accountId: accountId
    .optional()
    .describe(
      'Account of the connection. Required only for a connection that the connector does not know yet, and only if there are several accounts.',
    ),
});

/**
 * `after` of the change feed: the last `seq` that the reader has processed. Absent or 0 reads from the start;
 * `latest` starts after the newest change.
 */
export const afterSeq = z
  .union([z.literal('latest'), optionalQueryInteger({ min: 0 })], {
    error: 'must be an integer or `latest`',
  })
  .describe(
    'The last `seq` that you processed; later changes are returned. Absent or 0 reads from the start, `latest` returns only future changes.',
  );

/** The current end of the change feed. */
export const feedPosition = {
  feedId: z
    .string()
    .describe(
      'Id of the feed. If it differs from the id that you stored, this is another feed: read it from the start.',
    ),
  lastSeq: z.int().min(0).describe('The number of the newest change.'),
};
