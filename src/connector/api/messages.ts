import type {
  ConnectorMessage,
  FirstSeenBy,
  ListConnectorMessagesQuery,
} from '../../contract/connector/messages.ts';
import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import type { Database } from '../../runtime/database/database.ts';
import { toIso } from '../iso-time.ts';
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

// Each connection gives its newest messages from its own index, and the newest of all are taken from these.
const LIST = `
  select ${COLUMNS}
    from connector.connections c
   cross join lateral (
     select * from connector.messages m
      where m.connection_id = c.connection_id
        and ($1::text is null or m.peer = $1) and ($2::text is null or m.direction = $2)
        and ($3::bigint is null
             or (m.created_at <= $3 and (m.created_at < $3 or (m.id, m.connection_id) > ($4::text, $5::text))))
      order by m.created_at desc, m.id
      limit $6::integer) m
   where ($7::text is null or c.connection_id = $7) and ($8::text is null or c.account_id = $8)
   order by m.created_at desc, m.id, m.connection_id
   limit $6::integer`;

/** `GET /v1/messages`: newest first. */
export function listMessages(database: Database): Operation<'listMessages'> {
  return async ({ query }) => {
    const rows = await database.query<MessageRow>(LIST, listParams(query));
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [
      row.createdAt,
      row.id,
      row.connectionId,
    ]);
    return { messages: page.map(present), nextCursor, hasMore };
  };
}

function listParams(query: ListConnectorMessagesQuery): unknown[] {
  const [createdAt, id, connectionId] = decodeCursor(MESSAGE_KEY, query.cursor) ?? [null, null, null];
  return [
    query.peer ?? null,
    query.direction ?? null,
    createdAt,
    id,
    connectionId,
    query.limit + 1,
    query.connectionId ?? null,
    query.accountId ?? null,
  ];
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
