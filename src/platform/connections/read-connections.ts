import { and, asc, desc, eq, gt, isNotNull, sql } from 'drizzle-orm';
import type { ConnectionKey } from '../../contract/sandbox/connections.ts';
import type { Filter } from '../../contract/sandbox/filter.ts';
import type { Provider, Tier, WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { type Credential, reaches } from '../credentials/credential.ts';
import { connections, licenses, type SessionState, workspaces } from '../db/core-tables.ts';
import { type FilterColumns, filterSql } from '../db/filter-sql.ts';
import { networkSessions } from '../db/session-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { concerned, passed } from '../kernel/decision-trace.ts';
import { isIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { type License, type LicenseState, licenseState } from '../licensing/license-state.ts';

/** A connection with the state of its license at the time of the read. */
export interface Connection {
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly provider: Provider;
  /** Null until a number has paired. */
  readonly phoneNumber: string | null;
  readonly label: string;
  readonly tier: Tier;
  readonly state: SessionState;
  readonly needsReconnect: boolean;
  readonly isDefault: boolean;
  readonly profilePicUrl: string | null;
  /** Virtual epoch ms at which the warm-up ends; null: the number had no warm-up. */
  readonly warmupUntil: number | null;
  readonly license: LicenseState;
}

/** The query that all reads of connections share, with workspaces and licenses. Callers add conditions. */
function select(db: Queryable) {
  const { id, workspaceId, provider, phoneNumber, label, tier, state } = connections;
  const { needsReconnect, isDefault, profilePicUrl, warmupUntil } = connections;
  const { kind, expiresAt } = licenses;
  return orm(db)
    .select({
      ...{ id, workspaceId, workspaceKind: workspaces.kind, provider, phoneNumber, label, tier, state },
      ...{ needsReconnect, isDefault, profilePicUrl, warmupUntil, license: { kind, expiresAt } },
    })
    .from(connections)
    .innerJoin(workspaces, eq(workspaces.id, workspaceId))
    .leftJoin(licenses, eq(licenses.connectionId, id));
}

const at =
  (now: number) =>
  <Row extends { license: License | null }>(
    row: Row,
  ): Omit<Row, 'license'> & Pick<Connection, 'license'> => ({
    ...row,
    license: licenseState(row.license, now),
  });

/** Connections by id, in no particular order, without unknown ones. */
export async function readConnections(
  db: Queryable,
  ids: readonly string[],
  now: number,
): Promise<Map<string, Connection>> {
  const rows = await select(db).where(isAnyOf(connections.id, ids));
  return new Map(rows.map(at(now)).map((connection) => [connection.id, connection]));
}

/** One connection, for use outside of the API. Throws `not_found`. */
export async function readConnection(db: Queryable, id: string, now: number): Promise<Connection> {
  const found = isIdentifier(id) ? (await readConnections(db, [id], now)).get(id) : undefined;
  if (found === undefined) throw new PlatformError('not_found', { why: 'no connection has this id' });
  return found;
}

/**
 * One connection that a credential reaches. Throws the same `not_found` for an unknown connection, one of another
 * workspace and one outside of the credential's list. The license is checked later. [choice.foreign.same]
 * [choice.unlicensed.allowed]
 */
export async function findReachable(
  db: Queryable,
  credential: Credential,
  id: string,
  now: number,
): Promise<Connection> {
  const connection = await readConnection(db, id, now);
  concerned({ connectionId: id });
  if (connection.workspaceId !== credential.workspaceId) {
    throw new PlatformError('not_found', { why: 'the connection belongs to another workspace' });
  }
  if (!reaches(credential, id)) {
    const why = `the key reaches ${credential.connectionIds?.length} connections, this is not one of them`;
    throw new PlatformError('not_found', { why });
  }
  passed('connection');
  return connection;
}

/**
 * The connections that are visible to a credential, oldest first: in its workspace and its list, paired, and with a
 * valid license. [service.gate.visible] [service.gate.expired-hidden] [choice.unlicensed.hidden]
 * [choice.unpaired]
 */
export async function readVisible(db: Queryable, credential: Credential, now: number): Promise<Connection[]> {
  const { workspaceId, connectionIds } = credential;
  const rows = await select(db)
    .where(
      and(
        eq(connections.workspaceId, workspaceId),
        isNotNull(connections.pairedAt),
        gt(licenses.expiresAt, now),
        connectionIds === null ? undefined : isAnyOf(connections.id, connectionIds),
      ),
    )
    .orderBy(asc(connections.position));
  return rows.map(at(now));
}

/** Which connections to list. */
export interface ConnectionFilter {
  /** Default: all. */
  readonly where?: Filter<ConnectionKey>;
  /** Default: the oldest come first. */
  readonly newestFirst?: boolean;
  readonly skip: number;
  readonly limit: number;
}

/** A license that expires within this time is about to end. */
const ENDING_MS = 3 * 24 * 3_600_000;

/** What filters compare. Whether a license has expired depends on the time. */
function columnsAt(now: number): FilterColumns<ConnectionKey> {
  const { id, workspaceId, provider, phoneNumber, label, state, needsReconnect } = connections;
  const { kind, expiresAt } = licenses;
  const cause = sql`(select ${networkSessions.cause} from ${networkSessions} where ${networkSessions.connectionId} = ${id})`;
  return {
    keys: {
      status: sql`case ${state} when 'live' then 'connected' else ${state} end`,
      license: sql`case when ${expiresAt} is null then 'none' when ${expiresAt} <= ${now} then 'expired'
        when ${kind} = 'trial' then 'trial' else 'active' end`,
      ending: sql`case when ${expiresAt} > ${now} and ${expiresAt} <= ${now + ENDING_MS} then 'yes' else 'no' end`,
      reconnect: sql`case when ${needsReconnect} then 'yes' else 'no' end`,
      ...{ outage: cause, provider, workspace: workspaceId, connection: id, phone: phoneNumber },
    },
    texts: [label, phoneNumber],
  };
}

/** The connections of all workspaces, for use outside of the API. */
export async function listAll(db: Queryable, filter: ConnectionFilter, now: number): Promise<Connection[]> {
  const { where = [], newestFirst = false, skip, limit } = filter;
  const rows = await select(db)
    .where(filterSql(where, columnsAt(now)))
    .orderBy((newestFirst ? desc : asc)(connections.position))
    .offset(skip)
    .limit(limit);
  return rows.map(at(now));
}

/**
 * Throws the 402 for the kind of workspace unless the license is valid. [service.gate.unsendable]
 * [errors.addon_required] [errors.license_inactive]
 */
export function requireLicense(connection: Connection): void {
  const { license, workspaceKind } = connection;
  if (!license.valid) {
    const why = `the license of the connection is ${license.status}`;
    throw new PlatformError(ASSUMPTIONS.licenseCode.value[workspaceKind], { why });
  }
  passed('license', `the license is ${license.status}`);
}
