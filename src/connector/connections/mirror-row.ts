import type { ReadConnectionDetail } from '../../contract/service/read-answers.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { changedFields, connectionChange } from '../db/connection-changes.ts';
import { toStorableText } from '../db/storable-text.ts';
import { tellChanges } from '../db/tell-changes.ts';

/** What the mirror contained for a connection before a call. Times in epoch milliseconds. */
export interface MirrorRow {
  readonly accountId: string;
  readonly status: string | null;
  readonly version: number;
  readonly deletedAt: number | null;
}

/** The mirror's row of a connection; null if it has none. */
export async function readMirrorRow(db: Queryable, connectionId: string): Promise<MirrorRow | null> {
  const [row] = await db.query<MirrorRow>(
    `select account_id as "accountId", status, version, deleted_at as "deletedAt"
       from connector.connections where connection_id = $1`,
    [connectionId],
  );
  return row ?? null;
}

const TOLD = 'status, needs_reconnect, phone_number, label, provider, license_status, license_expires';
const EXCLUDED = TOLD.replaceAll(/\w+/g, (column) => `excluded.${column}`);

/*
 * A live connection is `open` in the list and `connected` in the detail: a difference in the word alone is
 * not a change. Fields missing in the detail are kept.
 */
const STORE_DETAIL = `
WITH seen AS (SELECT c.* FROM connector.connections c WHERE c.connection_id = $1 AND c.account_id = $2),
detail AS (
  SELECT CASE WHEN $4 IN ('open', 'connected') AND s.status IN ('open', 'connected') THEN s.status
              ELSE coalesce($4, s.status) END AS status,
         CASE WHEN $4 IN ('open', 'connected') THEN false
              WHEN $4 IN ('disconnected', 'connecting') THEN true
              ELSE s.needs_reconnect END AS needs_reconnect,
         coalesce($5, s.phone_number) AS phone_number, coalesce($6, s.label) AS label,
         coalesce($7, s.provider) AS provider, coalesce($8, s.license_status) AS license_status,
         coalesce($9::bigint, s.license_expires) AS license_expires
    FROM (SELECT) one LEFT JOIN seen s ON true
),
kept AS (
  INSERT INTO connector.connections AS c (connection_id, account_id, ${TOLD}, visible, version, updated_at)
  SELECT $1, $2, ${TOLD}, true, 1, $10::bigint FROM detail
  ON CONFLICT (connection_id) DO UPDATE
     SET (${TOLD}) = ROW(${EXCLUDED}),
         reason = CASE WHEN excluded.needs_reconnect IS DISTINCT FROM false THEN c.reason END,
         deleted_at = NULL, version = c.version + 1, updated_at = excluded.updated_at
   WHERE c.account_id = excluded.account_id AND c.version = $3::bigint
     AND (c.deleted_at IS NOT NULL OR (${TOLD.replaceAll(/\w+/g, (column) => `c.${column}`)}) IS DISTINCT FROM (${EXCLUDED}))
  RETURNING c.*
),
${tellChanges({
  made: ['kept'],
  columns: 'type, at, account_id, connection_id, message_id, source, data',
  rows: `SELECT 'connection.updated', $10::bigint, c.account_id, c.connection_id, NULL, 'api',
         ${connectionChange(`CASE WHEN s.connection_id IS NOT NULL THEN ${changedFields('c', 's')} END`)}
    FROM kept c LEFT JOIN seen s ON true`,
})}
SELECT FROM kept`;

/**
 * Writes the detail of a connection to the mirror. `version` is that of the row before the detail was
 * requested, null if there was none: what an event or a poll reported meanwhile is newer and is kept. True if
 * it changed something.
 */
export async function storeDetail(
  database: Database,
  owner: { readonly accountId: string; readonly version: number | null },
  detail: ReadConnectionDetail,
  now: number,
): Promise<boolean> {
  const { id, licenseExpires } = detail;
  const params = [
    id,
    owner.accountId,
    owner.version,
    toStorableText(detail.status),
    toStorableText(detail.phoneNumber),
    toStorableText(detail.label),
    toStorableText(detail.provider),
    toStorableText(detail.licenseStatus),
    licenseExpires === null ? null : Date.parse(licenseExpires),
    now,
  ];
  return (await retryOnce(() => database.query(STORE_DETAIL, params))).length > 0;
}

const MARK_DELETED = `
WITH was AS (SELECT c.* FROM connector.connections c WHERE c.connection_id = $1),
gone AS (
  UPDATE connector.connections c
     SET deleted_at = $3::bigint, license_notice = NULL, needs_reconnect = false, reason = NULL, version = c.version + 1,
         updated_at = $3::bigint
   WHERE c.connection_id = $1 AND c.account_id = $2 AND c.deleted_at IS NULL
  RETURNING c.*
),
${tellChanges({
  made: ['gone'],
  columns: 'type, at, account_id, connection_id, message_id, source, data',
  rows: `SELECT 'connection.updated', $3::bigint, c.account_id, c.connection_id, NULL, 'api',
         ${connectionChange(changedFields('c', 'w'))}
    FROM gone c CROSS JOIN was w`,
})}
SELECT FROM gone`;

/**
 * Records that a connection no longer exists at the service. The row is kept, because messages refer to it; a
 * list that contains the connection restores it. True if this was not recorded before.
 */
export async function markDeleted(
  database: Database,
  connectionId: string,
  accountId: string,
  now: number,
): Promise<boolean> {
  const params = [connectionId, accountId, now];
  return (await retryOnce(() => database.query(MARK_DELETED, params))).length > 0;
}
