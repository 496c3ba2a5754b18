import { and, desc, eq, lt } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { messages } from '../db/message-tables.ts';

/** The range of a page: messages of these connections below a position, newest first. */
interface PageRange {
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

/**
 * Rows below a position, newest first, along one index: that of the only connection, or that of the workspace. Positions
 * follow commits, so later rows never appear below it. [messages.list.newest-first]
 */
export async function readPage(db: Queryable, { workspaceId, connectionIds, below, limit }: PageRange) {
  const [only] = connectionIds;
  const isListed =
    only !== undefined && connectionIds.length === 1
      ? eq(connectionId, only)
      : and(eq(messages.workspaceId, workspaceId), isAnyOf(connectionId, connectionIds));
  return await orm(db)
    .select(COLUMNS)
    .from(messages)
    .where(and(isListed, lt(position, below)))
    .orderBy(desc(position))
    .limit(limit);
}

export type MessageRow = Awaited<ReturnType<typeof readPage>>[number];
