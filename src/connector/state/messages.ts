import { and, count, desc, eq, gt, gte, isNull, min, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { WEBHOOK_SEEN } from '../db/facts.ts';
import { expiredMessages } from '../db/message-tables.ts';
import { c, DIRECTIONS, IN_LIST, m, NOT_ERASED, newestMessages } from '../db/newest-messages.ts';

/* Figures about the messages of an account. Each function throws as `query` does. Times are epoch ms. */

/** Incoming messages of an account since a time whose sender is unknown. */
export async function countNameless(db: Queryable, accountId: string, since: number): Promise<number> {
  const [row] = await orm(db)
    .select({ count: count() })
    .from(c)
    .innerJoin(m, and(eq(m.connectionId, c.connectionId), eq(m.direction, 'incoming')))
    .where(and(eq(c.accountId, accountId), gte(m.createdAt, since), isNull(m.peer), NOT_ERASED));
  return row?.count ?? 0;
}

/** When the oldest message of these connections was created that still has its texts; null if there is none. */
export async function readOldestKept(
  db: Queryable,
  connectionIds: readonly string[],
): Promise<number | null> {
  const oldest = orm(db)
    .select({ at: m.createdAt })
    .from(m)
    .where(and(...IN_LIST))
    .orderBy(m.createdAt)
    .limit(1)
    .as('oldest');
  const [row] = await orm(db)
    .select({ at: min(oldest.at) })
    .from(c)
    .crossJoin(DIRECTIONS)
    .crossJoinLateral(oldest)
    .where(isAnyOf(c.connectionId, connectionIds));
  return row?.at ?? null;
}

/** The newest message of an account that is dated after a time. */
export async function findDatedAfter(
  db: Queryable,
  accountId: string,
  time: number,
): Promise<{ readonly id: string; readonly createdAt: number } | undefined> {
  const newest = newestMessages(db, 1, gt(m.createdAt, time));
  const [row] = await orm(db)
    .select({ id: newest.id, createdAt: newest.createdAt })
    .from(c)
    .crossJoin(DIRECTIONS)
    .crossJoinLateral(newest)
    .where(eq(c.accountId, accountId))
    .orderBy(desc(newest.createdAt))
    .limit(1);
  return row;
}

/** Whether a message was stored that was removed, because of its age or of its person. */
export async function isErased(db: Queryable, messageId: string): Promise<boolean> {
  const { id } = expiredMessages;
  const found = await orm(db)
    .select({ id: m.id })
    .from(m)
    .where(and(eq(m.id, messageId), m.erased))
    .unionAll(orm(db).select({ id }).from(expiredMessages).where(eq(id, messageId)))
    .limit(1);
  return found.length > 0;
}

/** Limits of the sample: newest messages of each direction of a connection, and connections. */
const SAMPLE = 100;
const CONNECTIONS = 200;

const STATUS_EVENTS = WEBHOOK_SEEN.sent | WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read | WEBHOOK_SEEN.failed;

/**
 * From a sample of the messages of an account since a time: incoming ones that a webhook delivered, outgoing
 * ones with a status, and those of them whose status a webhook delivered.
 */
export async function readReported(
  db: Queryable,
  accountId: string,
  since: number,
): Promise<{ readonly received: number; readonly withStatus: number; readonly statuses: number }> {
  const newest = newestMessages(db, SAMPLE, gte(m.createdAt, since));
  const { direction, webhookSeen, status } = newest;
  const numbers = orm(db)
    .select({ connectionId: c.connectionId })
    .from(c)
    .where(and(eq(c.accountId, accountId), eq(c.provider, 'qr')))
    .orderBy(c.connectionId)
    .limit(CONNECTIONS)
    .as('c');
  const [row] = await orm(db)
    .select({
      received: sql<number>`count(*) filter (where ${direction} = 'incoming' and ${webhookSeen} <> 0)`,
      withStatus: sql<number>`count(*) filter (where ${direction} = 'outgoing' and ${status} is not null)`,
      statuses: sql<number>`count(*) filter (where ${direction} = 'outgoing' and ${webhookSeen} & ${STATUS_EVENTS}::int <> 0)`,
    })
    .from(numbers)
    .crossJoin(DIRECTIONS)
    .crossJoinLateral(newest);
  return row ?? { received: 0, withStatus: 0, statuses: 0 };
}
