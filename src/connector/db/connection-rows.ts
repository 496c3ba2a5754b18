import { eq, getTableColumns, sql } from 'drizzle-orm';
import type { ReadConnectionDetail } from '../../contract/service/read-answers.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { connections } from './account-tables.ts';
import { columnNames, Parameters, sqlType } from './input-columns.ts';
import { toStorableText } from './storable-text.ts';
import { writeChanges } from './write-changes.ts';

/*
 * The content of a change of a connection, and the condition for writing one: parts of the statements that
 * write changes.
 */

const { connectionId: _id, accountId: _account, ...OTHERS } = getTableColumns(connections);
const {
  listedAt: _l,
  historyUntil: _u,
  historyFrom: _f,
  lastVisibleAt: _v,
  lastEventAt: _e,
  lastEventRank: _r,
  webhookAt: _w,
  ...NEWER
} = OTHERS;
const { version: _version, updatedAt: _updatedAt, ...SHOWN } = NEWER;

/** The fields of a connection that a change shows, each a column. Times are epoch ms; `presentChange` formats them. */
export const CONNECTION_FIELDS = Object.keys(SHOWN) as readonly (keyof typeof SHOWN)[];

const COLUMNS = CONNECTION_FIELDS.map((name) => ({ name, column: SHOWN[name].name }));

/** The current connection, from the row `c`. */
export const CONNECTION_DATA = `jsonb_build_object(${COLUMNS.map(
  ({ name, column }) => `'${name}', c.${column}`,
).join(', ')})`;

/**
 * The list calls a live connection `open`, its events and the detail call it `connected`: the difference is not
 * a change.
 */
const spelled = (row: string): string =>
  `CASE WHEN ${row}.status = 'open' THEN 'connected' ELSE ${row}.status END`;

const differs = (column: string, after: string, before: string): string =>
  column === 'status'
    ? `${spelled(after)} IS DISTINCT FROM ${spelled(before)}`
    : `${after}.${column} IS DISTINCT FROM ${before}.${column}`;

/** The names of the fields that differ between two rows, as a JSON array; if it is empty, no change is written. */
export function changedFields(after: string, before: string): string {
  const names = COLUMNS.map(
    ({ name, column }) => `CASE WHEN ${differs(column, after, before)} THEN '${name}' END`,
  );
  return `to_jsonb(array_remove(ARRAY[${names.join(', ')}], NULL))`;
}

/** The data of a change of the row `c`; `changed` is a JSON array, or NULL for a connection that was not known. */
export function connectionChange(changed: string): string {
  return `${CONNECTION_DATA} || jsonb_build_object('changed', ${changed})`;
}

/*
 * Writes to single rows of `connector.connections`: a detail, a creation, a deletion, the CRM's mapping, a license
 * notice, the removal of an account. Those of a listing are in `connection-listing.ts`, those of events in the merge.
 * Each statement also writes its changes to the feed. `version` increases with every fact from the service, so that
 * an older fact does not overwrite a newer one.
 */

/**
 * CTEs of `writeChanges` that write one `connection.updated` for each row `c` of `from`. `data` is that of the
 * change, see `connection-changes.ts`.
 */
export function writeConnectionChanges(
  made: readonly string[],
  change: { readonly now: string; readonly source: string; readonly data: string; readonly from: string },
): string {
  const { now, source, data, from } = change;
  const owner = { accountId: 'c.account_id', connectionId: 'c.connection_id' };
  return writeChanges({
    made,
    changes: [{ type: `'connection.updated'`, at: now, ...owner, source: `'${source}'`, data, from }],
  });
}

/** A live connection needs no action; one that is known not to be live waits for its owner. */
export const needsReconnect = (status: string, otherwise: string): string =>
  `CASE WHEN ${status} IN ('open', 'connected') THEN false
            WHEN ${status} IN ('disconnected', 'connecting') THEN true ELSE ${otherwise} END`;

/** The reason of an outage is kept until the connection is known to be live again. */
export const REASON = 'CASE WHEN excluded.needs_reconnect IS DISTINCT FROM false THEN c.reason END';

/** The stored row of a connection before a call. Times in epoch milliseconds. */
export type MirrorRow = Pick<
  typeof connections.$inferSelect,
  'accountId' | 'status' | 'version' | 'deletedAt'
>;

/** The stored row of a connection; null if there is none. */
export async function readMirrorRow(db: Queryable, connectionId: string): Promise<MirrorRow | null> {
  const { accountId, status, version, deletedAt } = connections;
  const [row] = await orm(db)
    .select({ accountId, status, version, deletedAt })
    .from(connections)
    .where(eq(connections.connectionId, connectionId));
  return row ?? null;
}

interface Detail {
  readonly accountId: string;
  readonly version: number | null;
  readonly detail: ReadConnectionDetail;
  readonly now: number;
}

const p = new Parameters<Detail>();
const ID = p.take('text', ({ detail }) => detail.id);
const ACCOUNT = p.take('text', ({ accountId }) => accountId);
const VERSION = p.take('bigint', ({ version }) => version);
const NOW = p.take('bigint', ({ now }) => now);
const STATUS = p.take('text', ({ detail }) => toStorableText(detail.status));
const KEPT = (['phoneNumber', 'label', 'provider', 'licenseStatus', 'licenseExpires'] as const).map(
  (field) => {
    const { name } = connections[field];
    const value = p.take(sqlType(connections[field]), ({ detail }) => {
      const reported = detail[field];
      return typeof reported === 'string' ? toStorableText(reported) : reported;
    });
    return { name, value: `coalesce(${value}, s.${name})` };
  },
);
const DETAILED = [connections.status, connections.needsReconnect, ...KEPT];

/*
 * A live connection is `open` in the list and `connected` in the detail: this difference is not a change.
 * Fields missing in the detail are kept.
 */
const STORE_DETAIL = `
WITH seen AS (SELECT c.* FROM connector.connections c WHERE c.connection_id = ${ID} AND c.account_id = ${ACCOUNT}),
detail AS (
  SELECT CASE WHEN ${STATUS} IN ('open', 'connected') AND s.status IN ('open', 'connected') THEN s.status
              ELSE coalesce(${STATUS}, s.status) END AS status,
         ${needsReconnect(STATUS, 's.needs_reconnect')} AS needs_reconnect,
         ${KEPT.map(({ name, value }) => `${value} AS ${name}`).join(', ')}
    FROM (SELECT) one LEFT JOIN seen s ON true
),
kept AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, ${columnNames(DETAILED)}, visible, version, updated_at)
  SELECT ${ID}, ${ACCOUNT}, ${columnNames(DETAILED)}, true, 1, ${NOW} FROM detail
  ON CONFLICT (connection_id) DO UPDATE
     SET (${columnNames(DETAILED)}) = ROW(${columnNames(DETAILED, 'excluded')}), reason = ${REASON},
         deleted_at = NULL, version = c.version + 1, updated_at = excluded.updated_at
   WHERE c.account_id = excluded.account_id AND c.version = ${VERSION}
     AND (c.deleted_at IS NOT NULL
          OR (${columnNames(DETAILED, 'c')}) IS DISTINCT FROM (${columnNames(DETAILED, 'excluded')}))
  RETURNING c.*
),
${writeConnectionChanges(['kept'], {
  now: NOW,
  source: 'api',
  data: connectionChange(`CASE WHEN s.connection_id IS NOT NULL THEN ${changedFields('c', 's')} END`),
  from: 'FROM kept c LEFT JOIN seen s ON true',
})}
SELECT FROM kept`;

/**
 * Writes the detail of a connection to its row. `version` is that of the row before the detail was requested,
 * null if there was none: what an event or a poll reported in the meantime is newer and is kept. True if it
 * changed something. Throws as `query` does.
 */
export async function storeDetail(
  db: Queryable,
  owner: Pick<Detail, 'accountId' | 'version'>,
  detail: ReadConnectionDetail,
  now: number,
): Promise<boolean> {
  const params = p.valuesOf({ ...owner, detail, now });
  return (await retryOnce(() => db.query(STORE_DETAIL, params))).length > 0;
}

const MARK_DELETED = `
WITH was AS (SELECT c.* FROM connector.connections c WHERE c.connection_id = $1),
gone AS (
  UPDATE connector.connections c
     SET deleted_at = $3::bigint, needs_reconnect = false, reason = NULL,
         version = c.version + 1, updated_at = $3::bigint
   WHERE c.connection_id = $1 AND c.account_id = $2 AND c.deleted_at IS NULL
  RETURNING c.*
),
${writeConnectionChanges(['gone'], {
  now: '$3::bigint',
  source: 'api',
  data: connectionChange(changedFields('c', 'w')),
  from: 'FROM gone c CROSS JOIN was w',
})}
SELECT FROM gone`;

/**
 * Stores that a connection no longer exists at the service. The row is kept, because messages refer to it; a
 * list that contains the connection restores it. True if this was not stored before. Throws as `query` does.
 */
export async function markDeleted(
  db: Queryable,
  connectionId: string,
  accountId: string,
  now: number,
): Promise<boolean> {
  const params = [connectionId, accountId, now];
  return (await retryOnce(() => db.query(MARK_DELETED, params))).length > 0;
}

/**
 * CTEs that add the row of a connection which was just created, because the service lists it only once it has
 * paired. Takes SQL expressions and `from`, whose row `d` has `account_id` and `label`.
 */
export function mirrorCreated(created: {
  readonly id: string;
  readonly status: string;
  readonly now: string;
  readonly from: string;
}): string {
  const { id, status, now, from } = created;
  return `placed AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, label, provider, status, needs_reconnect, visible, version, updated_at)
  SELECT ${id}, d.account_id, d.label, 'qr', ${status}, true, true, 1, ${now} ${from}
  ON CONFLICT (connection_id) DO NOTHING
  RETURNING c.*
),
${writeConnectionChanges(['placed'], { now, source: 'api', data: CONNECTION_DATA, from: 'FROM placed c' })}`;
}

const MAP_CUSTOMER = `
WITH mapped AS (
  UPDATE connector.connections SET customer_ref = $2, updated_at = $3::bigint
   WHERE connection_id = $1 AND customer_ref IS DISTINCT FROM $2 RETURNING *
),
${writeConnectionChanges(['mapped'], {
  now: '$3::bigint',
  source: 'api',
  data: connectionChange(`'["customerRef"]'::jsonb`),
  from: 'FROM mapped c',
})}
SELECT FROM mapped`;

/**
 * Maps a connection to the CRM's own record; null removes the mapping. No poll or event changes it. Throws as
 * `query` does.
 */
export async function storeCustomer(
  db: Queryable,
  connectionId: string,
  customerRef: string | null,
  now: number,
): Promise<void> {
  await db.query(MAP_CUSTOMER, [connectionId, customerRef, now]);
}

/** The condition for a connection of a removed account, which the next account that names it takes over. */
export const isReleased = (row: string): string => `${row}.listed_at IS NULL AND NOT ${row}.visible`;

/** Hides the connections of a removed account. Another account takes one by listing it or by an event of it. */
export async function releaseConnections(db: Queryable, accountId: string, now: number): Promise<void> {
  await orm(db)
    .update(connections)
    .set({
      listedAt: null,
      visible: false,
      licenseValid: sql`nullif(${connections.licenseValid}, true)`,
      version: sql`${connections.version} + 1`,
      updatedAt: now,
    })
    .where(eq(connections.accountId, accountId));
}
