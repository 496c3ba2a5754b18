import { randomUUID } from 'node:crypto';
import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { tellOutbound } from './stored-outbound.ts';

/* What a caller of the API does with a send. SQL, because the changes are told in the statement that makes them. */

const CANCEL = `
WITH cancelled AS (
  UPDATE connector.outbound o SET state = 'cancelled', next_attempt_at = NULL, updated_at = $2::bigint
   WHERE o.id = $1 AND o.state = 'queued' AND NOT o.in_doubt
  RETURNING o.*
),
emptied AS (
  DELETE FROM connector.outbound_media f USING cancelled c WHERE f.outbound_id = c.id
),
${tellOutbound('cancelled', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM cancelled`;

/**
 * Cancels a send while it is queued and no lost answer means that it may have gone out. Resolves with its connection;
 * undefined: nothing was changed. Throws as `query` does.
 */
export async function cancelSend(db: Queryable, id: string, now: number): Promise<string | undefined> {
  const [cancelled] = await db.query<{ connectionId: string }>(CANCEL, [id, now]);
  return cancelled?.connectionId;
}

/*
 * A key that the service has forgotten by now protects nothing, so a late retry gets a new one. The send goes
 * to the end of its queue: sends queued meanwhile have been waiting longer.
 */
const RETRY = `
WITH retried AS (
  UPDATE connector.outbound o
     SET state = 'queued', position = DEFAULT, next_attempt_at = $2::bigint, updated_at = $2::bigint, lost_at = NULL,
         idempotency_key = CASE WHEN o.first_attempt_at < $3::bigint THEN $4 ELSE o.idempotency_key END,
         in_doubt = o.in_doubt AND o.first_attempt_at >= $3::bigint,
         first_attempt_at = CASE WHEN o.first_attempt_at < $3::bigint THEN NULL ELSE o.first_attempt_at END
   WHERE o.id = $1 AND o.state IN ('unknown', 'rejected')
  RETURNING o.*
),
${tellOutbound('retried', 'api', '$2::bigint')}
SELECT connection_id AS "connectionId" FROM retried`;

/** Queues an `unknown` or `rejected` send once more. Resolves and throws as `cancelSend` does. */
export async function retrySend(db: Queryable, id: string, now: number): Promise<string | undefined> {
  const params = [id, now, now - LAST_ATTEMPT_AFTER_MS, randomUUID()];
  const [retried] = await db.query<{ connectionId: string }>(RETRY, params);
  return retried?.connectionId;
}
