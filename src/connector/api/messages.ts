import { and, desc, eq, lte, sql } from 'drizzle-orm';
import type { ConnectorMessage, ListConnectorMessagesQuery } from '../../contract/connector/messages.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { shownOrigin } from '../db/message-tables.ts';
import { c, DIRECTIONS, m } from '../db/newest-messages.ts';
import { traceMessage } from '../trace/trace-message.ts';
import { notFound } from './api-error.ts';
import { cutPage, decodeCursor, MESSAGE_KEY } from './cursors.ts';
import type { Operation } from './operations.ts';

const SHOWN = {
  id: m.id,
  connectionId: m.connectionId,
  direction: m.direction,
  peer: m.peer,
  text: m.text,
  mediaUrl: m.mediaUrl,
  mediaType: m.mediaType,
  status: m.status,
  errorMessage: m.errorMessage,
  createdAt: m.createdAt,
  firstSeenBy: m.firstSeenBy,
  historic: m.historic,
  origin: m.origin,
  reference: m.reference,
  customerRef: c.customerRef,
};

/** `GET /v1/messages`, newest first. */
export function listMessages(database: Queryable): Operation<'listMessages'> {
  return async ({ query }) => {
    const rows = await readPage(database, query);
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [
      row.createdAt,
      row.id,
      row.connectionId,
    ]);
    return { messages: page.map(present), nextCursor, hasMore };
  };
}

/**
 * The newest messages of each connection are read from a separate index (by conversation, or by direction), and
 * the newest of all are taken from these. Conditions that the query does not use are left out: no index serves an
 * optional condition.
 */
async function readPage(db: Queryable, query: ListConnectorMessagesQuery) {
  const { peer, direction, connectionId, accountId, limit } = query;
  const [at, id, ofConnection] = decodeCursor(MESSAGE_KEY, query.cursor) ?? [];
  const isBefore = sql`(${m.createdAt} < ${at} or (${m.id}, ${m.connectionId}) > (${id}, ${ofConnection}))`;
  const both = peer === undefined && direction === undefined;
  const newest = orm(db)
    .select()
    .from(m)
    .where(
      and(
        eq(m.connectionId, c.connectionId),
        peer === undefined ? undefined : eq(m.peer, peer),
        direction === undefined ? undefined : eq(m.direction, direction),
        both ? sql`${m.direction} = d.direction` : undefined,
        at === undefined ? undefined : and(lte(m.createdAt, at), isBefore),
      ),
    )
    .orderBy(desc(m.createdAt), m.id)
    .limit(limit + 1)
    .as('m');
  return await orm(db)
    .select(SHOWN)
    .from(c)
    .crossJoin(both ? DIRECTIONS : sql`(values (null)) d(direction)`)
    .crossJoinLateral(newest)
    .where(
      and(
        connectionId === undefined ? undefined : eq(c.connectionId, connectionId),
        accountId === undefined ? undefined : eq(c.accountId, accountId),
      ),
    )
    .orderBy(desc(m.createdAt), m.id, m.connectionId)
    .limit(limit + 1);
}

/** `GET /v1/messages/{id}`. */
export function getMessage(database: Database): Operation<'getMessage'> {
  return async ({ id }) => {
    const [row] = await orm(database)
      .select(SHOWN)
      .from(m)
      .innerJoin(c, eq(c.connectionId, m.connectionId))
      .where(eq(m.id, id))
      .orderBy(desc(m.createdAt))
      .limit(1);
    if (row === undefined) throw notFound('message');
    return present(row);
  };
}

/** `GET /v1/messages/{id}/trace`: what touched a message, oldest first. */
export function getMessageTrace(database: Database): Operation<'getMessageTrace'> {
  return async ({ id }) => {
    const trace = await traceMessage(database, id);
    if (trace === null) throw notFound('message');
    return trace;
  };
}

function present(row: Awaited<ReturnType<typeof readPage>>[number]): ConnectorMessage {
  return { ...row, origin: shownOrigin(row), createdAt: toIso(row.createdAt) };
}
