import type { Queryable } from '../../runtime/database/database.ts';
import { CHANGE } from './facts.ts';
import { messageUpdates } from './merge-statement.ts';
import { mayBeOfSend } from './outbox-tables.ts';

const SETTLE = `
WITH settled AS (
  UPDATE connector.messages m
     SET origin = 'elsewhere', previous_status = m.status, change_mask = ${CHANGE.fields}
    FROM (SELECT o.id, o.connection_id FROM connector.messages o
           WHERE o.connection_id = $1 AND o.origin = 'unknown' AND NOT ${mayBeOfSend('o')}
           ORDER BY o.id FOR UPDATE OF o) open
   WHERE m.id = open.id AND m.connection_id = open.connection_id
  RETURNING m.*
),
${messageUpdates('settled', '$2::bigint', 'send')}
SELECT count(*) AS count FROM settled`;

/**
 * Messages of a connection whose origin was unknown while a send had no answer, and that no send can have made, were
 * sent elsewhere. Resolves with their number. After a crash, the end of the next send does it. Throws as `query` does.
 */
export async function settleOrigins(db: Queryable, connectionId: string, now: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(SETTLE, [connectionId, now]);
  return row?.count ?? 0;
}
