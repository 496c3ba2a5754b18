import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';

/** A message as a page needs it. */
export interface MessageRow {
  readonly id: string;
  readonly position: number;
  readonly wa_message_id: string | null;
  readonly connection_id: string;
  readonly direction: Direction;
  readonly text: string | null;
  readonly media_id: string | null;
  readonly media_type: string | null;
  readonly status: MessageStatus;
  readonly error_message: string | null;
  readonly created_at: number;
}

/** Where a page is cut from: messages of these connections below a position, newest first. */
export interface PageRange {
  readonly workspaceId: string;
  /** At least one, all of the workspace. */
  readonly connectionIds: readonly string[];
  readonly below: number;
  readonly limit: number;
}

/** A statement and its parameters. */
export interface PageQuery {
  readonly text: string;
  readonly params: readonly unknown[];
}

const COLUMNS = `id, position, wa_message_id, connection_id, direction, text, media_id, media_type, status,
  error_message, created_at`;

/** Whether a list leaves out no connection that messages can belong to. */
export async function coversWorkspace(
  db: Queryable,
  { workspaceId, connectionIds }: Pick<PageRange, 'workspaceId' | 'connectionIds'>,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM platform.connections
     WHERE workspace_id = $1 AND paired_at IS NOT NULL AND NOT id = ANY($2::text[]) LIMIT 1`,
    [workspaceId, connectionIds],
  );
  return rows.length === 0;
}

/**
 * The statement that reads a page. Its work grows with the page and the number of connections, never with
 * the messages that are stored: one connection is read along its own index and a whole workspace along the
 * workspace's. Some connections of a workspace are merged: the positions of the page first, then its rows,
 * since along the workspace's index any number of messages of the others could lie between two of theirs.
 * [messages.list.newest-first]
 */
export function pageQuery(range: PageRange, whole: boolean): PageQuery {
  const { workspaceId, connectionIds, below, limit } = range;
  const [only] = connectionIds;
  if (connectionIds.length === 1) {
    return {
      text: `SELECT ${COLUMNS} FROM platform.messages
        WHERE connection_id = $1 AND position < $2 ORDER BY position DESC LIMIT $3`,
      params: [only, below, limit],
    };
  }
  if (whole) {
    return {
      // A connection may have been hidden since: the list decides.
      text: `SELECT ${COLUMNS} FROM platform.messages
        WHERE workspace_id = $1 AND position < $2 AND connection_id = ANY($3::text[])
        ORDER BY position DESC LIMIT $4`,
      params: [workspaceId, below, connectionIds, limit],
    };
  }
  return {
    text: `WITH newest AS (
        SELECT m.position FROM unnest($1::text[]) AS c (id) CROSS JOIN LATERAL (
          SELECT position FROM platform.messages WHERE connection_id = c.id AND position < $2
          ORDER BY position DESC LIMIT $3
        ) AS m ORDER BY m.position DESC LIMIT $3
      )
      SELECT m.* FROM unnest($1::text[]) AS c (id) CROSS JOIN LATERAL (
        SELECT ${COLUMNS} FROM platform.messages
        WHERE connection_id = c.id AND position < $2 AND position >= (SELECT min(position) FROM newest)
        ORDER BY position DESC LIMIT $3
      ) AS m ORDER BY m.position DESC LIMIT $3`,
    params: [connectionIds, below, limit],
  };
}

/** Rows below a position, newest first. Positions follow commits, so later rows never appear below it. */
export async function readPage(db: Queryable, range: PageRange): Promise<MessageRow[]> {
  const whole = range.connectionIds.length > 1 && (await coversWorkspace(db, range));
  const { text, params } = pageQuery(range, whole);
  return await db.query<MessageRow>(text, params);
}
