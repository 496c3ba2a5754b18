import type { Queryable } from '../../runtime/database/database.ts';
import { changedFields, connectionChange } from '../db/connection-changes.ts';
import { noticeByTime } from '../db/license-notice.ts';
import { tellChanges } from '../db/tell-changes.ts';

const LISTED_AT = '(SELECT v.listed_at FROM connector.coverage v WHERE v.account_id = c.account_id)';
const NOTICE = noticeByTime('c', '$1::bigint', LISTED_AT);

/*
 * Rows are locked in the order of their keys, as everywhere. What another process has noted meanwhile is noted: the
 * condition is asked again of the locked row.
 */
const NOTE = `
WITH due AS (
  SELECT c AS was, c.connection_id, ${NOTICE} AS notice FROM connector.connections c
   WHERE c.license_notice IS DISTINCT FROM ${NOTICE}
   ORDER BY c.connection_id FOR UPDATE OF c
),
noticed AS (
  UPDATE connector.connections c SET license_notice = d.notice, updated_at = $1::bigint
    FROM due d WHERE c.connection_id = d.connection_id
  RETURNING c.*, d.was
),
${tellChanges({
  made: ['noticed'],
  columns: 'type, at, account_id, connection_id, message_id, source, data',
  rows: `SELECT 'connection.updated', $1::bigint, c.account_id, c.connection_id, NULL, 'poll',
         ${connectionChange(changedFields('c', '(c.was)'))}
    FROM noticed c ORDER BY c.connection_id`,
})}
SELECT connection_id AS id, license_notice AS notice FROM noticed`;

/** A connection of which something new may be said. Null: there is nothing to say any more. */
export interface NotedEnd {
  readonly id: string;
  readonly notice: 'ends_soon' | 'end_passed' | null;
}

/**
 * Tells the CRM of licences whose end comes near or has passed by the date alone, each once, whether or not the
 * service can be reached. Any number of processes may do it at once. The rule is in `license-notice.ts`; it never
 * makes a licence invalid. Throws as `query` does.
 */
export async function noteLicenceEnds(db: Queryable, now: number): Promise<NotedEnd[]> {
  return await db.query<NotedEnd>(NOTE, [now]);
}
