import { and, count, eq, gte, lte, max, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { DELIVERY_WAITS_MS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { m } from '../db/newest-messages.ts';
import { receiverTallies, repairs, repairTotals } from '../db/schema.ts';
import type { TallyKind } from '../inbox/receiver-tally.ts';
import { CAME } from '../reconcile/store-page.ts';

/* What webhooks delivered and what they missed. Each function throws as `query` does. Times are epoch ms. */

const HOUR_MS = 3_600_000;

/** The receiver's counts since the hour of `since`, by kind. Without a subscription: of all of them. */
export async function readTallies(
  db: Queryable,
  since: number,
  subscriptionId: string | null,
): Promise<ReadonlyMap<TallyKind, ReceiverCount>> {
  const t = receiverTallies;
  const [least, most] = [sql.raw(`${Number.MIN_SAFE_INTEGER}`), sql.raw(`${Number.MAX_SAFE_INTEGER}`)];
  const rows = await orm(db)
    .select({
      kind: sql<TallyKind>`${t.kind}`,
      count: sql<number>`sum(${t.count})::bigint`,
      lastAt: sql<number>`max(${t.lastAt})`,
      totalMs: sql<number>`greatest(least(sum(${t.totalMs}), ${most}), ${least})::bigint`,
      minMs: sql<number>`min(${t.minMs})`,
      maxMs: sql<number>`max(${t.maxMs})`,
    })
    .from(t)
    .where(
      and(
        gte(t.hour, since - HOUR_MS),
        gte(t.lastAt, since),
        subscriptionId === null ? undefined : eq(t.subscriptionId, subscriptionId),
      ),
    )
    .groupBy(t.kind);
  return new Map(rows.map((row) => [row.kind, row]));
}

/** The receiver's counts of one kind. The milliseconds are those of `TallyKind`. */
export interface ReceiverCount {
  readonly count: number;
  readonly lastAt: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/** When polling last found what no webhook had delivered; null if never. */
export async function readRepairedAt(db: Queryable, accountId: string): Promise<number | null> {
  const [row] = await orm(db)
    .select({ at: max(repairTotals.lastAt) })
    .from(repairTotals)
    .where(eq(repairTotals.accountId, accountId));
  return row?.at ?? null;
}

const r = alias(repairs, 'r');
const OF_MESSAGE = and(eq(m.connectionId, r.connectionId), eq(m.id, r.messageId));
const NOT_DELIVERED = sql`not coalesce(${sql.raw(CAME)}, false)`;

/** How many repairs wait for their judgement, and have not been delivered since. */
export async function countUndecided(db: Queryable, accountId: string): Promise<number> {
  const [row] = await orm(db)
    .select({ count: count() })
    .from(r)
    .leftJoin(m, OF_MESSAGE)
    .where(and(eq(r.accountId, accountId), NOT_DELIVERED));
  return row?.count ?? 0;
}

/** All attempts of a delivery are over by then if each is refused at once. Includes a margin. */
const REFUSED_MS = DELIVERY_WAITS_MS + 3_500;

/**
 * When polling last found what refused deliveries would have reported; null if never. Does not wait for the
 * judgement of repairs, which allows time for slow deliveries.
 */
export async function readMissedAt(db: Queryable, accountId: string, now: number): Promise<number | null> {
  const repairedAt = await readRepairedAt(db, accountId);
  const [row] = await orm(db)
    .select({ at: max(r.observedAt) })
    .from(r)
    .leftJoin(m, OF_MESSAGE)
    .where(and(eq(r.accountId, accountId), lte(r.observedAt, now - REFUSED_MS), NOT_DELIVERED));
  const observedAt = row?.at ?? null;
  return repairedAt === null && observedAt === null ? null : Math.max(repairedAt ?? 0, observedAt ?? 0);
}
