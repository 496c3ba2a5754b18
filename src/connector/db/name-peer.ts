import type { Queryable } from '../../runtime/database/database.ts';
import { CHANGE } from './facts.ts';
import { messageUpdates } from './merge-statement.ts';

const NAME = `
WITH named AS (
  UPDATE connector.messages m
     SET peer = $3::text, peer_named = true, previous_status = m.status, change_mask = ${CHANGE.fields}
   WHERE m.id = $1 AND m.connection_id = $2 AND NOT m.erased AND (m.peer IS NULL OR (m.peer_named AND m.peer <> $3::text))
  RETURNING m.*
),
${messageUpdates('named', '$4::bigint', 'api')}
SELECT count(*) AS count FROM named`;

/**
 * Names the other party of a message that no source has named. Changes nothing if a source has, or if it has this name
 * already. What the service reports later replaces it. Throws as `query` does.
 */
export async function namePeer(
  db: Queryable,
  { id, connectionId }: { readonly id: string; readonly connectionId: string },
  peer: string,
  now: number,
): Promise<void> {
  await db.query(NAME, [id, connectionId, peer, now]);
}
