import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { deliveries } from '../db/webhook-tables.ts';
import type { Envelope } from './active-delivery.ts';
import type { Attempt, DeliveryRecord } from './delivery-record.ts';
import { isSuccess } from './send-attempt.ts';

/** Numbers and inserts any number of rows in one statement. It is SQL, because drizzle has no such insert. */
const RECOVER_DELIVERIES = `
  WITH last AS (
    SELECT coalesce(max(id), 0) AS id FROM platform.deliveries
  ), dropped AS (
    INSERT INTO platform.deliveries (id, event_id, subscription_id, outcome, reason, created_at, attempts)
    SELECT last.id + row_number() OVER (ORDER BY l.id, s.id), l.id, s.id, 'dropped', 'interrupted', $1::bigint, '[]'
    FROM platform.ledger l CROSS JOIN last, unnest(array_prepend(l.workspace_id, l.app_ids)) AS s (id)
    WHERE NOT EXISTS (
      SELECT 1 FROM platform.deliveries d
      WHERE d.event_id = l.id AND d.subscription_id = s.id AND d.variant IS NULL
    )
    RETURNING id
  )
  SELECT count(dropped.id) AS dropped, greatest(max(dropped.id), max(last.id)) AS last_id
  FROM last LEFT JOIN dropped ON true`;

/**
 * Stores every delivery without a result as dropped: its process has ended, and there is no long redelivery queue.
 * `now` is wall-clock epoch milliseconds. Resolves with their number and with the first free id. [delivery.dropped]
 */
export async function recoverDeliveries(
  db: Queryable,
  now: number,
): Promise<{ dropped: number; nextId: number }> {
  const [row] = await db.query<{ dropped: number; last_id: number }>(RECOVER_DELIVERIES, [now]);
  return { dropped: row?.dropped ?? 0, nextId: (row?.last_id ?? 0) + 1 };
}

/**
 * Adds attempts to a finished delivery. A successful one makes the delivery delivered. A delivery without an attempt so
 * far gets the URL and the signature of these.
 */
export async function appendAttempts(
  db: Queryable,
  id: DeliveryRecord['id'],
  envelope: Envelope,
  attempts: readonly Attempt[],
): Promise<void> {
  const { attempts: before, url, signedAt, signature } = deliveries;
  await orm(db)
    .update(deliveries)
    .set({
      attempts: sql`(${before}::jsonb || ${JSON.stringify(attempts)}::jsonb)::text`,
      ...(attempts.some(isSuccess) ? { outcome: 'delivered', reason: null } : {}),
      url: sql`coalesce(${url}, ${envelope.url})`,
      signedAt: sql`coalesce(${signedAt}, ${envelope.timestamp})`,
      signature: sql`coalesce(${signature}, ${envelope.signature})`,
    })
    .where(eq(deliveries.id, id));
}
