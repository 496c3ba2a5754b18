import { and, eq, gt, isNull, max, sql } from 'drizzle-orm';
import { type ConnectorConnection, connectorConnection } from '../../contract/connector/connections.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { judgedHealth } from '../connections/judge-health.ts';
import { storeCustomer } from '../db/connection-rows.ts';
import { connections, messages } from '../db/schema.ts';
import { notFound } from './api-error.ts';
import { CONNECTION_KEY, cutPage, decodeCursor } from './cursors.ts';
import type { ApiParts, Operations } from './operations.ts';
import { shownColumns } from './shown-columns.ts';

/** Connections as the API shows them. The last contact is computed: a message never writes to its connection. */
function selectConnections(db: Queryable) {
  const newest = (direction: 'incoming' | 'outgoing') =>
    orm(db)
      .select({ at: max(messages.createdAt) })
      .from(messages)
      .where(
        and(
          eq(messages.connectionId, connections.connectionId),
          eq(messages.direction, direction),
          sql`not ${messages.erased}`,
        ),
      );
  return orm(db)
    .select({
      id: connections.connectionId,
      health: judgedHealth(connections),
      ...shownColumns(connections, connectorConnection),
      lastContactAt: sql<number | null>`greatest(${newest('incoming')}, ${newest('outgoing')})`,
    })
    .from(connections);
}

/** The operations that read connections, and `PUT /v1/connections/{id}/customer`. */
export function operateConnections({ database, clock, feed }: ApiParts) {
  return {
    /** By id. Deleted connections are omitted unless asked for, although messages still refer to them. */
    async listConnections({ query }) {
      const [after] = decodeCursor(CONNECTION_KEY, query.cursor) ?? [null];
      const { connectionId, accountId, deletedAt } = connections;
      const rows = await selectConnections(database)
        .where(
          and(
            query.health === undefined ? isNull(deletedAt) : eq(judgedHealth(connections), query.health),
            after === null ? undefined : gt(connectionId, after),
            query.accountId === undefined ? undefined : eq(accountId, query.accountId),
          ),
        )
        .orderBy(connectionId)
        .limit(query.limit + 1);
      const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.id]);
      return { connections: page.map(present), nextCursor, hasMore };
    },
    getConnection: ({ id }) => readConnection(database, id),
    /** The mapping belongs to the CRM: no poll or event changes it. [service.id.customer-map] */
    async mapCustomer({ id, body }) {
      await storeCustomer(database, id, body.customerRef, clock.now());
      feed.notify();
      return await readConnection(database, id);
    },
  } satisfies Operations;
}

async function readConnection(database: Database, id: string): Promise<ConnectorConnection> {
  const [row] = await selectConnections(database).where(eq(connections.connectionId, id));
  if (row === undefined) throw notFound('connection');
  return present(row);
}

function present(row: Awaited<ReturnType<typeof selectConnections>>[number]): ConnectorConnection {
  return {
    ...row,
    licenseExpires: toIsoOrNull(row.licenseExpires),
    lastContactAt: toIsoOrNull(row.lastContactAt),
    deletedAt: toIsoOrNull(row.deletedAt),
    updatedAt: toIso(row.updatedAt),
  };
}
