import { and, desc, eq, isNotNull, lt, not, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import { messages } from '../db/message-tables.ts';

/** The range of a page: messages of these connections below a position, newest first. */
export interface PageRange {
  readonly workspaceId: string;
  /** At least one. All are in the same workspace. */
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

/** Whether a list contains every connection of the workspace that can have messages. */
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

/** Reads along one index: that of a connection, or that of a workspace. */
function readAlong(db: Queryable, { below, limit }: PageRange, where: SQL | undefined) {
  return orm(db)
    .select(COLUMNS)
    .from(messages)
    .where(and(where, lt(position, below)))
    .orderBy(desc(position))
    .limit(limit);
}

/**
 * Reads some connections of a workspace, merged: first the positions of the page, then its rows. In the workspace's
 * index, any number of messages of other connections could lie between two of theirs.
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

export type MessageRow = Awaited<ReturnType<typeof readAlong>>[number];

/**
 * Reads a page: along the index of its only connection, along that of the workspace if the list is `whole`, or merged.
 * The work depends on the size of the page and the number of connections, not on the number of stored messages.
 */
export function pageQuery(db: Queryable, range: PageRange, whole: boolean) {
  const { workspaceId, connectionIds } = range;
  const [only] = connectionIds;
  if (only !== undefined && connectionIds.length === 1) return readAlong(db, range, eq(connectionId, only));
  if (!whole) return readMerged(db, range);
  // Filters by the given list, because a connection may have been hidden in the meantime.
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
