import type {
  ConnectorMessage,
  FirstSeenBy,
  ListConnectorMessagesQuery,
} from '../../contract/connector/messages.ts';
import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { notFound } from './api-error.ts';
import { cutPage, decodeCursor, MESSAGE_KEY } from './cursors.ts';
import type { Operation } from './operations.ts';

interface MessageRow {
  readonly id: string;
  readonly connectionId: string;
  readonly direction: Direction;
  readonly peer: string | null;
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  readonly status: MessageStatus | null;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly firstSeenBy: FirstSeenBy;
  readonly customerRef: string | null;
}

const COLUMNS = `m.id, m.connection_id as "connectionId", m.direction, m.peer, m.text, m.media_url as "mediaUrl",
  m.media_type as "mediaType", m.status, m.error_message as "errorMessage", m.created_at as "createdAt",
  m.first_seen_by as "firstSeenBy", c.customer_ref as "customerRef"`;

/** `GET /v1/messages`, newest first. */
export function listMessages(database: Queryable): Operation<'listMessages'> {
  return async ({ query }) => {
    const { text, params } = listStatement(query);
    const rows = await database.query<MessageRow>(text, params);
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [
      row.createdAt,
      row.id,
      row.connectionId,
    ]);
    return { messages: page.map(present), nextCursor, hasMore };
  };
}

/**
 * The statement for a page: the newest messages of each connection are read from an index of their own (by
 * conversation, or by direction), and the newest of all are taken from these. Conditions that the query does
 * not use are left out: no index serves an optional condition.
 */
function listStatement(query: ListConnectorMessagesQuery): { text: string; params: unknown[] } {
  const params: unknown[] = [query.limit + 1, query.connectionId ?? null, query.accountId ?? null];
  const take = (value: unknown, type: string): string => `$${params.push(value)}::${type}`;
  const { peer, direction } = query;
  const conditions: string[] = [];
  if (peer !== undefined) conditions.push(`m.peer = ${take(peer, 'text')}`);
  if (direction !== undefined) conditions.push(`m.direction = ${take(direction, 'text')}`);
  const both = peer === undefined && direction === undefined;
  if (both) conditions.push('m.direction = d.direction');
  const cursor = decodeCursor(MESSAGE_KEY, query.cursor);
  if (cursor !== null) {
    const [createdAt, id, connectionId] = cursor;
    const at = take(createdAt, 'bigint');
    const key = `(${take(id, 'text')}, ${take(connectionId, 'text')})`;
    conditions.push(`m.created_at <= ${at}`, `(m.created_at < ${at} or (m.id, m.connection_id) > ${key})`);
  }
  const text = `
  select ${COLUMNS}
    from connector.connections c${both ? "\n   cross join (values ('incoming'), ('outgoing')) d(direction)" : ''}
   cross join lateral (
     select * from connector.messages m
      where m.connection_id = c.connection_id and ${conditions.join(' and ')}
      order by m.created_at desc, m.id
      limit $1::integer) m
   where ($2::text is null or c.connection_id = $2) and ($3::text is null or c.account_id = $3)
   order by m.created_at desc, m.id, m.connection_id
   limit $1::integer`;
  return { text, params };
}

/** `GET /v1/messages/{id}`. */
export function getMessage(database: Database): Operation<'getMessage'> {
  return async ({ id }) => {
    const [row] = await database.query<MessageRow>(
      `select ${COLUMNS} from connector.messages m join connector.connections c using (connection_id)
        where m.id = $1 order by m.created_at desc limit 1`,
      [id],
    );
    if (row === undefined) throw notFound('message');
    return present(row);
  };
}

function present(row: MessageRow): ConnectorMessage {
  return { ...row, createdAt: toIso(row.createdAt) };
}
