import { and, desc, eq, isNotNull, lt, not, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import { messages } from '../db/message-tables.ts';

/** Where a page is cut from: messages of these connections below a position, newest first. */
export interface PageRange {
  readonly workspaceId: string;
  /** At least one, all of the workspace. */
  readonly connectionIds: readonly string[];
  readonly below: number;
  readonly limit: number;
}

const { id, position, waMessageId, connectionId, direction, text } = messages;
const { mediaId, mediaType, status, errorMessage, createdAt } = messages;
const COLUMNS = {
  ...{ id, position, waMessageId, connectionId, direction, text },
  ...{ mediaId, mediaType, status, errorMessage, createdAt },
};

/** Whether a list leaves out no connection that messages can belong to. */
export async function coversWorkspace(
  db: Queryable,
  { workspaceId, connectionIds }: Pick<PageRange, 'workspaceId' | 'connectionIds'>,
): Promise<boolean> {
  const others = await orm(db)
    .select({ id: connections.id })
    .from(connections)
    .where(
      and(
        eq(connections.workspaceId, workspaceId),
        isNotNull(connections.pairedAt),
        not(isAnyOf(connections.id, connectionIds)),
      ),
    )
    .limit(1);
  return others.length === 0;
}

/** Along an index: of one connection, or of a workspace. */
function readAlong(db: Queryable, { below, limit }: PageRange, where: SQL | undefined) {
  return orm(db)
    .select(COLUMNS)
    .from(messages)
    .where(and(where, lt(position, below)))
    .orderBy(desc(position))
    .limit(limit);
}

/**
 * Some connections of a workspace, merged: the positions of the page first, then its rows, since along the
 * workspace's index any number of messages of the others could lie between two of theirs.
 */
function readMerged(db: Queryable, range: PageRange) {
  const { connectionIds, limit } = range;
  const ofEach = sql`unnest(${sql.param(connectionIds)}::text[]) c (id)`;
  const isOfIt = sql`${connectionId} = c.id`;
  const first = readAlong(db, range, isOfIt).as('m');
  const newest = orm(db)
    .$with('newest')
    .as(
      orm(db)
        .select({ position: first.position })
        .from(ofEach)
        .crossJoinLateral(first)
        .orderBy(desc(first.position))
        .limit(limit),
    );
  const rows = readAlong(
    db,
    range,
    and(isOfIt, sql`${position} >= (select min(${newest.position}) from ${newest})`),
  ).as('m');
  const { ...columns } = rows._.selectedFields;
  return orm(db)
    .with(newest)
    .select(columns)
    .from(ofEach)
    .crossJoinLateral(rows)
    .orderBy(desc(rows.position))
    .limit(limit);
}

/** A message as a page needs it. */
export type MessageRow = Awaited<ReturnType<typeof readAlong>>[number];

/**
 * Reads a page: along the index of its one connection, along that of the workspace where the list is `whole`, or
 * merged. The work grows with the page and the number of connections, never with the messages that are stored.
 */
export function pageQuery(db: Queryable, range: PageRange, whole: boolean) {
  const { workspaceId, connectionIds } = range;
  const [only] = connectionIds;
  if (only !== undefined && connectionIds.length === 1) return readAlong(db, range, eq(connectionId, only));
  if (!whole) return readMerged(db, range);
  // A connection may have been hidden since: the list decides.
  const visible = isAnyOf(connectionId, connectionIds);
  return readAlong(db, range, and(eq(messages.workspaceId, workspaceId), visible));
}

/**
 * Rows below a position, newest first. Positions follow commits, so later rows never appear below it.
 * [messages.list.newest-first]
 */
export async function readPage(db: Queryable, range: PageRange): Promise<MessageRow[]> {
  const whole = range.connectionIds.length > 1 && (await coversWorkspace(db, range));
  return await pageQuery(db, range, whole);
}
