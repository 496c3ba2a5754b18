import type { Provider, Tier, WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { type Credential, reaches } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { passed } from '../kernel/decision-trace.ts';
import { isIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { type Licence, type LicenceState, licenceState } from '../licensing/licence-state.ts';
import type { SessionState } from './transitions.ts';

/** A connection with its licence as it stands at the time of the read. */
export interface Connection {
  readonly id: string;
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly provider: Provider;
  /** Null until a number paired. */
  readonly phoneNumber: string | null;
  readonly label: string;
  readonly tier: Tier;
  readonly state: SessionState;
  readonly needsReconnect: boolean;
  readonly isDefault: boolean;
  readonly profilePicUrl: string | null;
  /** Until when a new number may send little; null: it was never new here. */
  readonly warmupUntil: number | null;
  readonly licence: LicenceState;
}

interface ConnectionRow {
  id: string;
  workspace_id: string;
  workspace_kind: WorkspaceKind;
  provider: Provider;
  phone_number: string | null;
  label: string;
  tier: Tier;
  state: SessionState;
  needs_reconnect: boolean;
  is_default: boolean;
  profile_pic_url: string | null;
  warmup_until: number | null;
  licence_kind: Licence['kind'] | null;
  licence_expires_at: number | null;
}

const SELECT = `
  SELECT c.id, c.workspace_id, w.kind AS workspace_kind, c.provider, c.phone_number, c.label, c.tier, c.state,
    c.needs_reconnect, c.is_default, c.profile_pic_url, c.warmup_until,
    l.kind AS licence_kind, l.expires_at AS licence_expires_at
  FROM platform.connections c
  JOIN platform.workspaces w ON w.id = c.workspace_id
  LEFT JOIN platform.licences l ON l.connection_id = c.id`;

function fromRow(row: ConnectionRow, now: number): Connection {
  const { licence_kind: kind, licence_expires_at: expiresAt } = row;
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    workspaceKind: row.workspace_kind,
    provider: row.provider,
    phoneNumber: row.phone_number,
    label: row.label,
    tier: row.tier,
    state: row.state,
    needsReconnect: row.needs_reconnect,
    isDefault: row.is_default,
    profilePicUrl: row.profile_pic_url,
    warmupUntil: row.warmup_until,
    licence: licenceState(kind === null || expiresAt === null ? null : { kind, expiresAt }, now),
  };
}

/** Connections by id, in no order; unknown ones are left out. */
export async function readConnections(
  db: Queryable,
  ids: readonly string[],
  now: number,
): Promise<Map<string, Connection>> {
  const rows = await db.query<ConnectionRow>(`${SELECT} WHERE c.id = ANY($1::text[])`, [ids]);
  return new Map(rows.map((row) => [row.id, fromRow(row, now)]));
}

/** One connection, for people outside the API. Throws `not_found`. */
export async function readConnection(db: Queryable, id: string, now: number): Promise<Connection> {
  const found = isIdentifier(id) ? (await readConnections(db, [id], now)).get(id) : undefined;
  if (found === undefined) throw new PlatformError('not_found', { why: 'no connection has this id' });
  return found;
}

/**
 * One connection that a credential reaches. Throws `not_found`, the same for an unknown one, one of another
 * workspace and one outside the credential's list. An expired licence is a later check. [choice.foreign.same]
 * [choice.unlicensed.allowed]
 */
export async function findReachable(
  db: Queryable,
  credential: Credential,
  id: string,
  now: number,
): Promise<Connection> {
  const connection = await readConnection(db, id, now);
  if (connection.workspaceId !== credential.workspaceId) {
    throw new PlatformError('not_found', { why: 'the connection belongs to another workspace' });
  }
  if (!reaches(credential, id)) {
    const why = `the key reaches ${credential.connectionIds?.length} connections, this is none of them`;
    throw new PlatformError('not_found', { why });
  }
  passed('connection');
  return connection;
}

/**
 * The connections that a credential sees, oldest first: of its workspace and within its list, paired, and
 * with a valid licence. [service.gate.visible] [service.gate.expired-hidden] [choice.unlicensed.hidden]
 * [choice.unpaired]
 */
export async function readVisible(db: Queryable, credential: Credential, now: number): Promise<Connection[]> {
  const rows = await db.query<ConnectionRow>(
    `${SELECT}
     WHERE c.workspace_id = $1 AND c.paired_at IS NOT NULL AND l.expires_at > $2
       AND ($3::text[] IS NULL OR c.id = ANY($3::text[]))
     ORDER BY c.position`,
    [credential.workspaceId, now, credential.connectionIds],
  );
  return rows.map((row) => fromRow(row, now));
}

/** Which connections to list; absent fields match all. */
export interface ConnectionFilter {
  readonly workspaceId?: string;
  readonly phoneNumber?: string;
  readonly skip: number;
  readonly limit: number;
}

/** The connections of everybody, oldest first, for people outside the API. */
export async function listAll(db: Queryable, filter: ConnectionFilter, now: number): Promise<Connection[]> {
  const { workspaceId, phoneNumber, skip, limit } = filter;
  const rows = await db.query<ConnectionRow>(
    `${SELECT}
     WHERE ($1::text IS NULL OR c.workspace_id = $1) AND ($2::text IS NULL OR c.phone_number = $2)
     ORDER BY c.position OFFSET $3 LIMIT $4`,
    [workspaceId ?? null, phoneNumber ?? null, skip, limit],
  );
  return rows.map((row) => fromRow(row, now));
}

/**
 * Throws the 402 of the workspace's kind unless the licence is valid. [service.gate.unsendable]
 * [errors.addon_required] [errors.license_inactive]
 */
export function requireLicence(connection: Connection): void {
  const { licence, workspaceKind } = connection;
  if (!licence.valid) {
    const why = `the licence of the connection is ${licence.status}`;
    throw new PlatformError(ASSUMPTIONS.licenceCode.value[workspaceKind], { why });
  }
  passed('licence', `the licence is ${licence.status}`);
}
