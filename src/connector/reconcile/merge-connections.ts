import type { Queryable } from '../../runtime/database/database.ts';
import { changedFields, connectionChange } from '../db/connection-changes.ts';
import { noticeWhileHeard } from '../db/license-notice.ts';
import { toStorableText } from '../db/storable-text.ts';
import { tellChanges } from '../db/tell-changes.ts';
import type { PolledConnection } from '../service-client/polled.ts';
import { heldLease, type Lease } from '../work/lease.ts';

/** Versions of the rows that a listing may touch, as they stood before the request was made. */
export type KnownVersions = ReadonlyMap<string, number>;

export interface ListingMerge {
  readonly lease: Lease;
  readonly accountId: string;
  /** Epoch milliseconds, our clock. */
  readonly now: number;
  readonly known: KnownVersions;
  readonly listed: readonly PolledConnection[];
  readonly overlapMs: number;
}

export interface ListingResult {
  /** False: somebody else polls this account by now, and nothing was written. */
  readonly applied: boolean;
  readonly changed: number;
  readonly hidden: number;
  /** Listed connections that belong to another account. */
  readonly foreign: number;
}

/**
 * Reads the versions before a listing is asked for. What changes in between was told by an event, which is
 * newer than the listing or as new: the listing must not overwrite it.
 */
export async function readKnownVersions(db: Queryable, accountId: string): Promise<KnownVersions> {
  const rows = await db.query<{ id: string; version: number }>(
    `select connection_id as id, version from connector.connections where account_id = $1 or listed_at is null`,
    [accountId],
  );
  return new Map(rows.map((row) => [row.id, row.version]));
}

const TOLD = [
  'phone_number',
  'label',
  'provider',
  'tier',
  'status',
  'needs_reconnect',
  'license_valid',
  'license_status',
  'license_expires',
  'is_default',
  'profile_pic_url',
] as const;

const told = (alias: string): string => TOLD.map((column) => `${alias}.${column}`).join(', ');
const filled = TOLD.map((column) => `coalesce(excluded.${column}, c.${column})`);

/** A live connection needs nobody; one that is known not to be live waits for its owner. */
const NEEDS_RECONNECT = `CASE WHEN u.status IN ('open', 'connected') THEN false
            WHEN u.status IN ('disconnected', 'connecting') THEN true END`;

/** What a listing leaves of a row, for the notice that its licence ends. */
const LICENSE = `(SELECT coalesce(excluded.license_valid, c.license_valid) AS license_valid,
                 coalesce(excluded.license_expires, c.license_expires) AS license_expires) n`;

/*
 * `before` is the snapshot at the start of the statement, where the data-modifying CTEs have not happened.
 * A gap of visibility begins at the watermark of the last listing that showed the connection: up to there
 * polling has seen everything of it; one that is ahead of our clock proves nothing. A connection that is listed for the first time, though not with the
 * first listing, begins at the beginning. A gap that is open already stays as deep as it was.
 */
const MERGE = `
WITH guard AS (${heldLease('$1', '$2')}),
listed AS (
  SELECT u.id AS connection_id, u.phone_number, u.label, u.provider, u.tier, u.status,
         ${NEEDS_RECONNECT} AS needs_reconnect, u.license_valid, u.license_status, u.license_expires,
         u.is_default, u.profile_pic_url, u.version
    FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::boolean[],
                $12::text[], $13::bigint[], $14::boolean[], $15::text[], $16::bigint[])
      AS u(id, phone_number, label, provider, tier, status, license_valid, license_status, license_expires,
           is_default, profile_pic_url, version)
   WHERE EXISTS (SELECT FROM guard)
),
before AS (
  SELECT c.* FROM connector.connections c
   WHERE c.account_id = $3 OR c.connection_id IN (SELECT connection_id FROM listed)
),
coverage AS (SELECT watermark, listed_watermark, listed_at FROM connector.coverage WHERE account_id = $3),
kept AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, ${TOLD.join(', ')}, license_notice, listed_at, visible, version, updated_at)
  SELECT l.connection_id, $3, ${told('l')}, ${noticeWhileHeard('l', '$4::bigint')}, $4::bigint, true, 1, $4::bigint
    FROM listed l ORDER BY l.connection_id
  ON CONFLICT (connection_id) DO UPDATE
     SET (${TOLD.join(', ')}) = ROW(${filled.join(', ')}),
         license_notice = (SELECT ${noticeWhileHeard('n', '$4::bigint')} FROM ${LICENSE}),
         reason = CASE WHEN excluded.needs_reconnect IS DISTINCT FROM false THEN c.reason END,
         account_id = excluded.account_id, listed_at = coalesce(c.listed_at, excluded.listed_at),
         visible = true, deleted_at = NULL, version = c.version + 1, updated_at = excluded.updated_at
   WHERE (c.account_id = excluded.account_id OR c.listed_at IS NULL)
     AND c.version = (SELECT l.version FROM listed l WHERE l.connection_id = excluded.connection_id)
     AND (c.listed_at IS NULL OR NOT c.visible OR c.deleted_at IS NOT NULL
          OR (${told('c')}) IS DISTINCT FROM (${filled.join(', ')}))
  RETURNING c.*
),
hidden AS (
  UPDATE connector.connections c
     SET visible = false, license_valid = nullif(c.license_valid, true), license_notice = NULL, last_visible_at = (SELECT listed_at FROM coverage), version = c.version + 1,
         updated_at = $4::bigint
    FROM unnest($17::text[], $18::bigint[]) AS k(connection_id, version)
   WHERE c.connection_id = k.connection_id AND c.version = k.version AND c.account_id = $3
     AND c.visible AND c.listed_at IS NOT NULL AND EXISTS (SELECT FROM guard)
  RETURNING c.*
),
gaps AS (
  INSERT INTO connector.gaps AS g (account_id, kind, slot, floor, restarts, opened_at)
  SELECT $3, 'visibility', h.connection_id,
         CASE WHEN v.listed_watermark <= $4::bigint + $19::bigint THEN v.listed_watermark - $19::bigint END, 0, $4::bigint
    FROM hidden h LEFT JOIN coverage v ON true
  UNION ALL
  SELECT $3, 'visibility', k.connection_id, NULL, 0, $4::bigint
    FROM kept k LEFT JOIN before b ON b.connection_id = k.connection_id
   WHERE b.listed_at IS NULL AND EXISTS (SELECT FROM coverage WHERE listed_at IS NOT NULL)
   ORDER BY 3
  ON CONFLICT (account_id, kind, slot) DO UPDATE
     SET cursor = NULL, top = NULL,
         floor = CASE WHEN g.floor IS NULL OR excluded.floor IS NULL THEN NULL
                      ELSE least(g.floor, excluded.floor) END
),
noted AS (
  INSERT INTO connector.coverage AS v (account_id, listed_watermark, listed_at)
  SELECT $3, NULL, $4::bigint WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id) DO UPDATE SET listed_watermark = v.watermark, listed_at = excluded.listed_at
),
${tellChanges({
  made: ['kept', 'hidden'],
  columns: 'type, at, account_id, connection_id, message_id, source, data',
  rows: `SELECT 'connection.updated', $4::bigint, c.account_id, c.connection_id, NULL, 'poll', ${connectionChange('d.changed')}
    FROM (SELECT * FROM kept UNION ALL SELECT * FROM hidden) c
    LEFT JOIN before b ON b.connection_id = c.connection_id
   CROSS JOIN LATERAL (
     SELECT CASE WHEN b.listed_at IS NOT NULL THEN ${changedFields('c', 'b')} END AS changed) d
   WHERE d.changed IS DISTINCT FROM '[]' ORDER BY c.connection_id`,
})}
SELECT EXISTS (SELECT FROM guard) AS applied,
       (SELECT count(*) FROM kept) AS changed,
       (SELECT count(*) FROM hidden) AS hidden,
       (SELECT count(*) FROM listed l JOIN before b USING (connection_id)
         WHERE b.account_id <> $3 AND b.listed_at IS NOT NULL) AS "foreign"`;

/**
 * Writes a listing into the mirror in one fenced statement. Rows that changed since their version was read
 * stay as they are. Connections that are listed no longer become invisible, and what they miss is noted as a
 * gap. Implements `GET /connections` as the truth about connections when an event was dropped.
 */
export async function mergeConnections(db: Queryable, merge: ListingMerge): Promise<ListingResult> {
  const listed = [...new Map(merge.listed.map((connection) => [connection.id, connection])).values()];
  const ids = new Set(listed.map((connection) => connection.id));
  const missing = [...merge.known].filter(([id]) => !ids.has(id));
  const text = (read: (connection: PolledConnection) => string | null) =>
    listed.map((connection) => toStorableText(read(connection)));
  const [result] = await db.query<ListingResult>(MERGE, [
    merge.lease.name,
    merge.lease.fence,
    merge.accountId,
    merge.now,
    listed.map((connection) => connection.id),
    text((connection) => connection.phoneNumber),
    text((connection) => connection.label),
    text((connection) => connection.provider),
    text((connection) => connection.tier),
    text((connection) => connection.status),
    listed.map((connection) => connection.licenseValid),
    text((connection) => connection.licenseStatus),
    listed.map((connection) => connection.licenseExpires),
    listed.map((connection) => connection.isDefault),
    text((connection) => connection.profilePicUrl),
    listed.map((connection) => merge.known.get(connection.id) ?? null),
    missing.map(([id]) => id),
    missing.map(([, version]) => version),
    merge.overlapMs,
  ]);
  return result ?? { applied: false, changed: 0, hidden: 0, foreign: 0 };
}
