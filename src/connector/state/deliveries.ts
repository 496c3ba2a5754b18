import type { Queryable } from '../../runtime/database/database.ts';
import type { TallyKind } from '../inbox/receiver-tally.ts';
import { CAME } from '../reconcile/repairs.ts';

/** What the receiver met of one kind. Times in milliseconds, `lastAt` since the epoch. */
export interface Tallied {
  readonly count: number;
  readonly lastAt: number;
  readonly totalMs: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

/** What the receiver met since the hour of `since`, by kind. Without a subscription: of all of them. */
export async function readTallies(
  db: Queryable,
  since: number,
  subscriptionId: string | null,
): Promise<ReadonlyMap<TallyKind, Tallied>> {
  const rows = await db.query<Tallied & { kind: TallyKind }>(
    `select kind, sum(count)::bigint as count, max(last_at) as "lastAt",
            greatest(least(sum(total_ms), ${Number.MAX_SAFE_INTEGER}), ${Number.MIN_SAFE_INTEGER})::bigint as "totalMs",
            min(least_ms) as "leastMs", max(most_ms) as "mostMs"
       from connector.receiver_tallies
      where hour >= $1::bigint - 3600000 and ($2::text is null or subscription_id = $2) and last_at >= $1::bigint
      group by kind`,
    [since, subscriptionId],
  );
  return new Map(rows.map((row) => [row.kind, row]));
}

/** When polling last had to bring what no webhook had brought; null: never. */
export async function readRepairedAt(db: Queryable, accountId: string): Promise<number | null> {
  const [row] = await db.query<{ at: number | null }>(
    'select max(last_at) as at from connector.repair_totals where account_id = $1',
    [accountId],
  );
  return row?.at ?? null;
}

/** Three attempts that are refused at once are over by then. */
const REFUSED_MS = 5_000;

/**
 * When polling last brought what refused deliveries would have brought; null: never. Need not wait for the judgement,
 * which leaves slow answers their time.
 */
export async function readMissedAt(db: Queryable, accountId: string, now: number): Promise<number | null> {
  const [row] = await db.query<{ at: number | null }>(
    `select greatest((select max(last_at) from connector.repair_totals where account_id = $1),
                     (select max(r.observed_at) from connector.repairs r
                        left join connector.messages m on m.connection_id = r.connection_id and m.id = r.message_id
                       where r.account_id = $1 and r.observed_at <= $2::bigint and not coalesce(${CAME}, false))) as at`,
    [accountId, now - REFUSED_MS],
  );
  return row?.at ?? null;
}
