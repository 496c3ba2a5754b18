import type { Queryable } from '../../runtime/database/database.ts';
import type { AccountLane } from './account-lane.ts';
import type { Envelope } from './active-delivery.ts';
import type { Attempt, DeliveryRecord } from './delivery-record.ts';
import type { ResendOptions } from './repeat-envelope.ts';
import { isSuccess } from './send-attempt.ts';

/** Sends an envelope several times through a lane. Resolves with the attempts, in the order they began. */
export function repeatThrough(
  lane: AccountLane,
  envelope: Envelope,
  { times = 1, alter }: ResendOptions,
): Promise<Attempt[]> {
  const marks = alter === undefined ? {} : { marks: [alter.name] };
  const repeated = async (): Promise<Attempt> => ({ ...(await lane.repeat(envelope)), ...marks });
  return Promise.all(Array.from({ length: times }, repeated));
}

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
  await db.query(
    `UPDATE platform.deliveries SET
       attempts = (attempts::jsonb || $2::jsonb)::text,
       outcome = CASE WHEN $3::boolean THEN 'delivered' ELSE outcome END,
       reason = CASE WHEN $3::boolean THEN NULL ELSE reason END,
       url = coalesce(url, $4::text), signed_at = coalesce(signed_at, $5::bigint),
       signature = coalesce(signature, $6::text)
     WHERE id = $1::bigint`,
    [
      id,
      JSON.stringify(attempts),
      attempts.some(isSuccess),
      envelope.url,
      envelope.timestamp,
      envelope.signature,
    ],
  );
}
