import { eq, isNull, or } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from './account-tables.ts';
import {
  changedFields,
  connectionChange,
  needsReconnect,
  REASON,
  writeConnectionChanges,
} from './connection-rows.ts';
import { column, columnNames, other, type Parameters } from './input-columns.ts';
import { toStorableText } from './storable-text.ts';

/** What a listing reports of a connection. */
const REPORTED = [
  'phoneNumber',
  'label',
  'provider',
  'tier',
  'status',
  'licenseValid',
  'licenseStatus',
  'licenseExpires',
  'isDefault',
  'profilePicUrl',
] as const;

/** A connection as it appears in a listing of the service. */
export type ListedConnection = { readonly id: string } & Readonly<
  Pick<typeof connections.$inferSelect, (typeof REPORTED)[number]>
>;

/** The columns that a listing writes. */
const LISTED = [...REPORTED.map((field) => connections[field]), connections.needsReconnect];
const FILLED = LISTED.map(({ name }) => `coalesce(excluded.${name}, c.${name})`).join(', ');

/** Versions of the rows that a listing may change, read before the request was made. */
export type KnownVersions = ReadonlyMap<string, number>;

/**
 * Reads the versions before a listing is requested. A change between the two was reported by an event that is
 * at least as new as the listing, so the listing must not overwrite it.
 */
export async function readKnownVersions(db: Queryable, accountId: string): Promise<KnownVersions> {
  const rows = await orm(db)
    .select({ id: connections.connectionId, version: connections.version })
    .from(connections)
    .where(or(eq(connections.accountId, accountId), isNull(connections.listedAt)));
  return new Map(rows.map((row) => [row.id, row.version]));
}

const KNOWN = [
  column(connections.connectionId, ({ id }: KnownRow) => id),
  column(connections.version, ({ version }: KnownRow) => version),
];

const INPUT = [
  column(connections.connectionId, ({ id }: ListedRow) => id),
  ...REPORTED.map((field) =>
    column(connections[field], (row: ListedRow) => {
      const value = row[field];
      return typeof value === 'string' ? toStorableText(value) : value;
    }),
  ),
  other('version', 'bigint', ({ version }: ListedRow) => version, true),
];

interface KnownRow {
  readonly id: string;
  readonly version: number;
}

/** `version` is that of the row before the listing was requested; null: there was none. */
type ListedRow = ListedConnection & { readonly version: number | null };

/** What `listingCtes` writes. */
export interface ListingRows {
  /** Each connection once. */
  readonly listed: readonly ListedRow[];
  /** What was known and is not listed. */
  readonly hidden: readonly KnownRow[];
}

/** The rows to write: compares what is listed with what was known before the listing was requested. */
export function compareListing(listed: readonly ListedConnection[], known: KnownVersions): ListingRows {
  const rows = new Map(listed.map((row) => [row.id, { ...row, version: known.get(row.id) ?? null }]));
  const hidden = [...known].flatMap(([id, version]) => (rows.has(id) ? [] : [{ id, version }]));
  return { listed: [...rows.values()], hidden };
}

/**
 * CTEs that write a listing for a statement with the CTEs `guard` and `coverage`. `kept` are the rows that the listing
 * changed, `hidden` those that it no longer shows, `before` is the snapshot at the start of the statement, where
 * the data-modifying CTEs have not happened.
 * Takes SQL expressions; the rows are parameters of `p`. The first listing of a connection sets what is its history;
 * that of an account which takes it over changes nothing of it. An account takes over what no other one shows; of a
 * connection that another one has hidden no version is read before, because every poll would read all of those.
 */
export function listingCtes<Input extends ListingRows>(
  p: Parameters<Input>,
  sql: {
    readonly accountId: string;
    readonly now: string;
    readonly historyUntil: string;
    readonly historyFrom: string;
  },
): string {
  const { accountId, now, historyUntil, historyFrom } = sql;
  const listed = p.arrays(INPUT, (input) => input.listed);
  const hidden = p.arrays(KNOWN, (input) => input.hidden);
  return `
listed AS (
  SELECT u.*, ${needsReconnect('u.status', 'NULL')} AS needs_reconnect
    FROM unnest(${listed})
      AS u(${columnNames(INPUT)})
   WHERE EXISTS (SELECT FROM guard)
),
unseen AS (
  SELECT c.connection_id FROM unnest(${hidden}) AS k(${columnNames(KNOWN)})
    JOIN connector.connections c ON c.connection_id = k.connection_id AND c.version = k.version
   WHERE c.account_id = ${accountId} AND c.visible AND c.listed_at IS NOT NULL AND EXISTS (SELECT FROM guard)
),
-- In the order in which the merge locks the connections of a batch. The statements below wait for it.
locked AS (
  SELECT count(*) AS count FROM (
    SELECT FROM connector.connections c
     WHERE c.connection_id IN (SELECT connection_id FROM listed UNION ALL SELECT connection_id FROM unseen)
     ORDER BY c.connection_id FOR UPDATE OF c) each
),
before AS (
  SELECT c.* FROM connector.connections c
   WHERE c.account_id = ${accountId} OR c.connection_id IN (SELECT connection_id FROM listed)
),
kept AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, ${columnNames(LISTED)}, listed_at, history_until, history_from, visible, version,
     updated_at)
  SELECT l.connection_id, ${accountId}, ${columnNames(LISTED, 'l')}, ${now}, ${historyUntil}, ${historyFrom}, true, 1, ${now}
    FROM listed l, locked ORDER BY l.connection_id
  ON CONFLICT (connection_id) DO UPDATE
     SET (${columnNames(LISTED)}) = ROW(${FILLED}), reason = ${REASON},
         account_id = excluded.account_id, listed_at = coalesce(c.listed_at, excluded.listed_at),
         history_until = coalesce(c.history_until, excluded.history_until),
         history_from = CASE WHEN c.history_until IS NULL THEN excluded.history_from ELSE c.history_from END,
         visible = true, deleted_at = NULL, version = c.version + 1, updated_at = excluded.updated_at
   WHERE CASE WHEN c.account_id = excluded.account_id OR c.listed_at IS NULL
              THEN c.version = (SELECT l.version FROM listed l WHERE l.connection_id = excluded.connection_id)
                   AND (c.listed_at IS NULL OR NOT c.visible OR c.deleted_at IS NOT NULL
                        OR (${columnNames(LISTED, 'c')}) IS DISTINCT FROM (${FILLED}))
              ELSE NOT c.visible END
  RETURNING c.*
),
hidden AS (
  UPDATE connector.connections c
     SET visible = false, license_valid = nullif(c.license_valid, true),
         last_visible_at = (SELECT listed_at FROM coverage), version = c.version + 1, updated_at = ${now}
    FROM unnest(${hidden}) AS k(${columnNames(KNOWN)}), locked
   WHERE c.connection_id = k.connection_id AND c.version = k.version AND c.account_id = ${accountId}
     AND c.visible AND c.listed_at IS NOT NULL AND EXISTS (SELECT FROM guard)
  RETURNING c.*
),
${writeConnectionChanges(['kept', 'hidden'], {
  now,
  source: 'poll',
  data: connectionChange('d.changed'),
  from: `FROM (SELECT * FROM kept UNION ALL SELECT * FROM hidden) c
    LEFT JOIN before b ON b.connection_id = c.connection_id
   CROSS JOIN LATERAL (
     SELECT CASE WHEN b.listed_at IS NOT NULL THEN ${changedFields('c', 'b')} END AS changed) d
   WHERE d.changed IS DISTINCT FROM '[]' ORDER BY c.connection_id`,
})}`;
}
