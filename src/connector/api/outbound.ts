import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import type { ListOutboundQuery, Outbound } from '../../contract/connector/outbound.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { outbound } from '../db/schema.ts';
import { cancelSend, queueSend, retrySend } from '../outbox/queue-send.ts';
import { presentOutbound, SHOWN } from '../outbox/stored-outbound.ts';
import { addressesOf } from '../people/read-contact.ts';
import { ApiError, notFound } from './api-error.ts';
import { cutPage, decodeCursor, OUTBOUND_KEY } from './cursors.ts';
import type { Operation } from './operations.ts';

export interface OutboundOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Notifies the worker that a connection has a send to process. */
  readonly notify: (connectionId: string) => void;
  /** Called when a change was written. */
  readonly onChanged: () => void;
}

/**
 * `POST /v1/messages`: committed before it is queued. Repeating the same reference refers to the same send.
 */
export function queueMessage(options: OutboundOptions): Operation<'queueMessage'> {
  const { database, clock, notify, onChanged } = options;
  return async ({ body }) => {
    const queued = await queueSend(database, body, clock.now());
    if (queued.kind === 'no_connection') throw notFound('connection');
    if (queued.kind === 'reused') {
      throw new ApiError('reference_reused', 'The reference was already used with a different body.');
    }
    if (queued.isNew) {
      onChanged();
      // Not awaited: the send is committed, and an unavailable queue must not delay the CRM.
      notify(body.connectionId);
    }
    return { outboundId: queued.outboundId };
  };
}

/** `GET /v1/outbound`, newest first. */
export function listOutbound(database: Queryable): Operation<'listOutbound'> {
  return async ({ query }) => {
    const rows = await readPage(database, query);
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.createdAt, row.id]);
    return { outbound: page.map(presentOutbound), nextCursor, hasMore };
  };
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

/** `GET /v1/outbound/{id}`. */
export function getOutbound(database: Database): Operation<'getOutbound'> {
  return async ({ id }) => await readOutbound(database, id);
}

/**
 * `DELETE /v1/outbound/{id}`: only while the send is queued and no lost response means that it may have been
 * sent.
 */
export function cancelOutbound(options: OutboundOptions): Operation<'cancelOutbound'> {
  const { database, clock } = options;
  return async ({ id }) => {
    return await answerMoved(options, id, await cancelSend(database, id, clock.now()), 'not_cancellable');
  };
}

/** `POST /v1/outbound/{id}/retry`, by an operator, who accepts that an `unknown` send may have gone out. */
export function retryOutbound(options: OutboundOptions): Operation<'retryOutbound'> {
  const { database, clock } = options;
  return async ({ id }) => {
    return await answerMoved(options, id, await retrySend(database, id, clock.now()), 'not_retryable');
  };
}

const REFUSALS = {
  not_cancellable: 'Only a queued send that cannot have gone out yet can be cancelled.',
  not_retryable: 'Only an unknown or rejected send can be retried.',
} as const;

async function answerMoved(
  { database, notify, onChanged }: OutboundOptions,
  id: string,
  connectionId: string | undefined,
  refusal: keyof typeof REFUSALS,
): Promise<Outbound> {
  const outbound = await readOutbound(database, id);
  if (connectionId === undefined) throw new ApiError(refusal, REFUSALS[refusal]);
  onChanged();
  notify(connectionId);
  return outbound;
}

async function readOutbound(db: Queryable, id: string): Promise<Outbound> {
  const [row] = await orm(db).select(SHOWN).from(outbound).where(eq(outbound.id, id));
  if (row === undefined) throw notFound('send');
  return presentOutbound(row);
}
