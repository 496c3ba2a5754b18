import type { Queryable } from '../../runtime/database/database.ts';
import type { TallyKind } from '../inbox/receiver-tally.ts';

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
