import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import type { ListOutboundQuery, Outbound } from '../../contract/connector/outbound.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { outbound } from '../db/schema.ts';
import { cancelSend, queueSend, retrySend } from '../outbox/queue-send.ts';
import { presentOutbound, SHOWN } from '../outbox/stored-outbound.ts';
import { addressesOf } from '../people/read-contact.ts';
import { ApiError, notFound } from './api-error.ts';
import { cutPage, decodeCursor, OUTBOUND_KEY } from './cursors.ts';
import type { ApiParts, Operations } from './operations.ts';

const REFUSALS = {
  not_cancellable: 'Only a queued send that cannot have gone out yet can be cancelled.',
  not_retryable: 'Only an unknown or rejected send can be retried.',
} as const;

/** The operations of sends. */
export function operateOutbound({ database, clock, outbox, feed }: ApiParts) {
  /** Answers with the send as it is now, if it was moved. */
  async function moved(
    id: string,
    connectionId: string | undefined,
    refusal: keyof typeof REFUSALS,
  ): Promise<Outbound> {
    const outbound = await readOutbound(database, id);
    if (connectionId === undefined) throw new ApiError(refusal, REFUSALS[refusal]);
    feed.notify();
    outbox.notify(connectionId);
    return outbound;
  }

  return {
    /** Committed before it is queued. Repeating the same reference refers to the same send. */
    async queueMessage({ body }) {
      const queued = await queueSend(database, body, clock.now());
      if (queued.kind === 'no_connection') throw notFound('connection');
      if (queued.kind === 'reused') {
        throw new ApiError('reference_reused', 'The reference was already used with a different body.');
      }
      if (queued.isNew) {
        feed.notify();
        // Not awaited: the send is committed, and an unavailable queue must not delay the CRM.
        outbox.notify(body.connectionId);
      }
      return { outboundId: queued.outboundId };
    },
    /** Newest first. */
    async listOutbound({ query }) {
      const rows = await readPage(database, query);
      const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.createdAt, row.id]);
      return { outbound: page.map(presentOutbound), nextCursor, hasMore };
    },
    getOutbound: ({ id }) => readOutbound(database, id),
    /** Only while the send is queued and no lost response means that it may have been sent. */
    cancelOutbound: async ({ id }) =>
      await moved(id, await cancelSend(database, id, clock.now()), 'not_cancellable'),
    /** By an operator, who accepts that an `unknown` send may have gone out. */
    retryOutbound: async ({ id }) =>
      await moved(id, await retrySend(database, id, clock.now()), 'not_retryable'),
  } satisfies Operations;
}

/** Conditions that the query does not use are left out: no index serves an optional condition. */
async function readPage(db: Queryable, query: ListOutboundQuery) {
  const { state, connectionId, accountId, to, limit } = query;
  const { createdAt, id } = outbound;
  const [at, ofId] = decodeCursor(OUTBOUND_KEY, query.cursor) ?? [];
  return await orm(db)
    .select(SHOWN)
    .from(outbound)
    .where(
      and(
        state === undefined ? undefined : eq(outbound.state, state),
        connectionId === undefined ? undefined : eq(outbound.connectionId, connectionId),
        accountId === undefined ? undefined : eq(outbound.accountId, accountId),
        to === undefined ? undefined : isAnyOf(outbound.recipient, addressesOf(to)),
        at === undefined ? undefined : sql`(${createdAt}, ${id}) < (${at}, ${ofId})`,
      ),
    )
    .orderBy(desc(createdAt), desc(id))
    .limit(limit + 1);
}

/** What a connection is to send, or may have sent, to a contact, in any spelling: the newest 1,000, newest first. */
export async function readPendingSends(
  db: Queryable,
  connectionId: string,
  contact: string,
): Promise<Outbound[]> {
  const { createdAt, id } = outbound;
  const rows = await orm(db)
    .select(SHOWN)
    .from(outbound)
    .where(
      and(
        eq(outbound.connectionId, connectionId),
        isAnyOf(outbound.recipient, addressesOf(contact)),
        inArray(outbound.state, ['queued', 'sending', 'unknown']),
      ),
    )
    .orderBy(desc(createdAt), desc(id))
    .limit(1_000);
  return rows.map(presentOutbound);
}

async function readOutbound(db: Queryable, id: string): Promise<Outbound> {
  const [row] = await orm(db).select(SHOWN).from(outbound).where(eq(outbound.id, id));
  if (row === undefined) throw notFound('send');
  return presentOutbound(row);
}
