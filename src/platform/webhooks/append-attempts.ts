import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { deliveries } from '../db/webhook-tables.ts';
import type { Envelope } from './active-delivery.ts';
import type { Attempt, DeliveryRecord } from './delivery-record.ts';
import { isSuccess } from './send-attempt.ts';

/**
 * Adds attempts to a finished delivery. One that a receiver took makes the delivery delivered; one that had
 * never left gets the address and the signature it left with.
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
