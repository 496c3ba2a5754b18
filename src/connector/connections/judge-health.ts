import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { ConnectionHealth } from '../../contract/connector/connections.ts';

type Fact = 'deletedAt' | 'visible' | 'licenseValid' | 'status' | 'needsReconnect';

/**
 * SQL: the state of a connection in one word, for a dashboard. Licenses are judged by the service's own fields,
 * never by a date and our clock. The flag decides over the status: [events.disconnected.drives]
 */
export function judgedHealth(of: Readonly<Record<Fact, SQLWrapper>>): SQL<ConnectionHealth> {
  const { deletedAt, visible, licenseValid, status, needsReconnect } = of;
  return sql`case
    when ${deletedAt} is not null then 'deleted'
    when not ${visible} then 'hidden'
    when ${licenseValid} is false then 'unlicensed'
    when ${status} = 'connecting' then 'connecting'
    when ${needsReconnect} then 'needs_reconnect'
    when ${status} in ('open', 'connected') then 'working'
    when ${status} = 'disconnected' then 'disconnected'
    else 'unknown' end`;
}
