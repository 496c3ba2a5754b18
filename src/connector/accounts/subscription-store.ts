import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { subscriptions } from '../db/schema.ts';

/** How a subscription stands; undefined: there is none. Times are epoch ms, ours. Throws as `query` does. */
export async function readSubscription(db: Queryable, id: string) {
  const [row] = await orm(db)
    .select({
      hasSecret: sql<boolean>`${subscriptions.sealedSecret} is not null`,
      registeredUrl: subscriptions.registeredUrl,
      registeredAt: subscriptions.registeredAt,
      /** When a replacement of its secret was begun that has not ended; null: none. */
      pendingAt: subscriptions.rotationPendingAt,
    })
    .from(subscriptions)
    .where(eq(subscriptions.id, id));
  return row;
}

export type SubscriptionState = NonNullable<Awaited<ReturnType<typeof readSubscription>>>;
