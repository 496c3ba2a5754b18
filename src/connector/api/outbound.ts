import { randomUUID } from 'node:crypto';
import type { ListOutboundQuery, Outbound } from '../../contract/connector/outbound.ts';
import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { queueSend } from '../outbox/queue-send.ts';
import {
  OUTBOUND_COLUMNS,
  presentOutbound,
  type StoredOutbound,
  tellOutbound,
} from '../outbox/stored-outbound.ts';
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
    const { text, params } = listStatement(query);
    const rows = await database.query<StoredOutbound>(text, params);
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.createdAt, row.id]);
    return { outbound: page.map(presentOutbound), nextCursor, hasMore };
  };
}

/**
 * Conditions that the query does not use are left out of the statement: no index serves an optional
 * condition.
 */
function listStatement(query: ListOutboundQuery): { text: string; params: unknown[] } {
  const params: unknown[] = [query.limit + 1];
  const take = (value: unknown, type: string): string => `$${params.push(value)}::${type}`;
  const conditions: string[] = [];
  const { state, connectionId, accountId } = query;
  if (state !== undefined) conditions.push(`o.state = ${take(state, 'text')}`);
  if (connectionId !== undefined) conditions.push(`o.connection_id = ${take(connectionId, 'text')}`);
  if (accountId !== undefined) conditions.push(`o.account_id = ${take(accountId, 'text')}`);
  const cursor = decodeCursor(OUTBOUND_KEY, query.cursor);
  if (cursor !== null) {
    const [createdAt, id] = cursor;
    conditions.push(`(o.created_at, o.id) < (${take(createdAt, 'bigint')}, ${take(id, 'text')})`);
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return {
    text: `select ${OUTBOUND_COLUMNS} from connector.outbound o ${where}
            order by o.created_at desc, o.id desc limit $1::integer`,
    params,
  };
}

/** `GET /v1/outbound/{id}`. */
export function getOutbound(database: Database): Operation<'getOutbound'> {
  return async ({ id }) => await readOutbound(database, id);
}

const CANCEL = `
WITH cancelled AS (
  UPDATE connector.outbound o SET state = 'cancelled', next_attempt_at = NULL, updated_at = $2::bigint
   WHERE o.id = $1 AND o.state = 'queued' AND NOT o.in_doubt
  RETURNING o.*
),
emptied AS (
  DELETE FROM connector.outbound_media f USING cancelled c WHERE f.outbound_id = c.id
),
${tellOutbound('cancelled', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM cancelled`;

/**
 * `DELETE /v1/outbound/{id}`: only while the send is queued and no lost response means that it may have been
 * sent.
 */
export function cancelOutbound(options: OutboundOptions): Operation<'cancelOutbound'> {
  const { database, clock } = options;
  return async ({ id }) => {
    const [cancelled] = await database.query<{ connectionId: string }>(CANCEL, [id, clock.now()]);
    return await answerMoved(options, id, cancelled, 'not_cancellable');
  };
}

/*
 * A key that the service has forgotten by now protects nothing, so a late retry gets a new one. The send goes
 * to the end of its queue: sends queued meanwhile have been waiting longer.
 */
const RETRY = `
WITH retried AS (
  UPDATE connector.outbound o
     SET state = 'queued', position = DEFAULT, next_attempt_at = $2::bigint, updated_at = $2::bigint, lost_at = NULL,
         idempotency_key = CASE WHEN o.first_attempt_at < $3::bigint THEN $4 ELSE o.idempotency_key END,
         in_doubt = o.in_doubt AND o.first_attempt_at >= $3::bigint,
         first_attempt_at = CASE WHEN o.first_attempt_at < $3::bigint THEN NULL ELSE o.first_attempt_at END
   WHERE o.id = $1 AND o.state IN ('unknown', 'rejected')
  RETURNING o.*
),
${tellOutbound('retried', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM retried`;

/** `POST /v1/outbound/{id}/retry`, by an operator, who accepts that an `unknown` send may have gone out. */
export function retryOutbound(options: OutboundOptions): Operation<'retryOutbound'> {
  const { database, clock } = options;
  return async ({ id }) => {
    const now = clock.now();
    const params = [id, now, now - LAST_ATTEMPT_AFTER_MS, randomUUID()];
    const [retried] = await database.query<{ connectionId: string }>(RETRY, params);
    return await answerMoved(options, id, retried, 'not_retryable');
  };
}

const REFUSALS = {
  not_cancellable: 'Only a queued send that cannot have gone out yet can be cancelled.',
  not_retryable: 'Only an unknown or rejected send can be retried.',
} as const;

async function answerMoved(
  { database, notify, onChanged }: OutboundOptions,
  id: string,
  moved: { readonly connectionId: string } | undefined,
  refusal: keyof typeof REFUSALS,
): Promise<Outbound> {
  const outbound = await readOutbound(database, id);
  if (moved === undefined) throw new ApiError(refusal, REFUSALS[refusal]);
  onChanged();
  notify(moved.connectionId);
  return outbound;
}

async function readOutbound(db: Queryable, id: string): Promise<Outbound> {
  const [row] = await db.query<StoredOutbound>(
    `select ${OUTBOUND_COLUMNS} from connector.outbound o where o.id = $1`,
    [id],
  );
  if (row === undefined) throw notFound('send');
  return presentOutbound(row);
}
