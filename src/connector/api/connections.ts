import type { ConnectorConnection, LicenseNotice } from '../../contract/connector/connections.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Database } from '../../runtime/database/database.ts';
import { judgeHealth } from '../connections/judge-health.ts';
import { storeCustomer } from '../db/connection-rows.ts';
import { notFound } from './api-error.ts';
import { CONNECTION_KEY, cutPage, decodeCursor } from './cursors.ts';
import type { Operation } from './operations.ts';

interface ConnectionRow {
  readonly id: string;
  readonly accountId: string;
  readonly phoneNumber: string | null;
  readonly label: string | null;
  readonly provider: string | null;
  readonly tier: string | null;
  readonly status: string | null;
  readonly needsReconnect: boolean | null;
  readonly reason: string | null;
  readonly isDefault: boolean | null;
  readonly profilePicUrl: string | null;
  readonly licenseValid: boolean | null;
  readonly licenseStatus: string | null;
  readonly licenseExpires: number | null;
  readonly licenseNotice: LicenseNotice | null;
  readonly visible: boolean;
  readonly lastContactAt: number | null;
  readonly customerRef: string | null;
  readonly deletedAt: number | null;
  readonly updatedAt: number;
}

// The last contact is computed: a message never writes to the row of its connection.
const SELECT = `
  select c.connection_id as id, c.account_id as "accountId", c.phone_number as "phoneNumber", c.label, c.provider,
         c.tier, c.status, c.needs_reconnect as "needsReconnect", c.reason, c.is_default as "isDefault",
         c.profile_pic_url as "profilePicUrl", c.license_valid as "licenseValid",
         c.license_status as "licenseStatus", c.license_expires as "licenseExpires",
         c.license_notice as "licenseNotice", c.visible,
         c.customer_ref as "customerRef", c.deleted_at as "deletedAt", c.updated_at as "updatedAt",
         greatest(
           (select max(m.created_at) from connector.messages m
             where m.connection_id = c.connection_id and m.direction = 'incoming'),
           (select max(m.created_at) from connector.messages m
             where m.connection_id = c.connection_id and m.direction = 'outgoing')) as "lastContactAt"
    from connector.connections c`;

/** `GET /v1/connections`, by id. Deleted connections are omitted, although messages still refer to them. */
export function listConnections(database: Database): Operation<'listConnections'> {
  return async ({ query }) => {
    const [after] = decodeCursor(CONNECTION_KEY, query.cursor) ?? [null];
    const rows = await database.query<ConnectionRow>(
      `${SELECT} where ($1::text is null or c.connection_id > $1) and ($2::text is null or c.account_id = $2)
          and c.deleted_at is null
       order by c.connection_id limit $3::integer`,
      [after, query.accountId ?? null, query.limit + 1],
    );
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.id]);
    return { connections: page.map(present), nextCursor, hasMore };
  };
}

/** `GET /v1/connections/{id}`. */
export function getConnection(database: Database): Operation<'getConnection'> {
  return async ({ id }) => await readConnection(database, id);
}

export interface MapCustomerOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Called when a change was written. */
  readonly onChanged: () => void;
}

/**
 * `PUT /v1/connections/{id}/customer`. The mapping belongs to the CRM: no poll or event changes it.
 * [service.id.customer-map]
 */
export function mapCustomer({ database, clock, onChanged }: MapCustomerOptions): Operation<'mapCustomer'> {
  return async ({ id, body }) => {
    await storeCustomer(database, id, body.customerRef, clock.now());
    onChanged();
    return await readConnection(database, id);
  };
}

async function readConnection(database: Database, id: string): Promise<ConnectorConnection> {
  const [row] = await database.query<ConnectionRow>(`${SELECT} where c.connection_id = $1`, [id]);
  if (row === undefined) throw notFound('connection');
  return present(row);
}

function present(row: ConnectionRow): ConnectorConnection {
  return {
    ...row,
    health: judgeHealth(row),
    licenseExpires: toIsoOrNull(row.licenseExpires),
    lastContactAt: toIsoOrNull(row.lastContactAt),
    deletedAt: toIsoOrNull(row.deletedAt),
    updatedAt: toIso(row.updatedAt),
  };
}
