import type { Account as AccountFigures } from '../../contract/service/account.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { Account } from './account-store.ts';

/** Slots change when somebody pays, pairs or deletes: once in a while is enough. */
const READ_EVERY_MS = 5 * 60_000;

/** What `GET /account` told last. Times in epoch milliseconds. */
export interface Quota {
  readonly accountId: string;
  readonly slotsTotal: number;
  readonly slotsUsed: number;
  readonly slotsAvailable: number;
  readonly nextExpiry: number | null;
  readonly connectionsTotal: number;
  readonly connectionsConnected: number;
  readonly connectionsNeedReconnect: number;
  readonly readAt: number;
}

/** Keeps what the service tells of an account now. */
export async function storeQuota(
  db: Queryable,
  accountId: string,
  { slots, connections }: AccountFigures,
  now: number,
): Promise<void> {
  await db.query(
    `insert into connector.quotas
       (account_id, slots_total, slots_used, slots_available, next_expiry, connections_total,
        connections_connected, connections_need_reconnect, read_at)
     select id, $2::integer, $3::integer, $4::integer, $5::bigint, $6::integer, $7::integer, $8::integer, $9::bigint
       from connector.accounts where id = $1
     on conflict (account_id) do update
       set slots_total = excluded.slots_total, slots_used = excluded.slots_used,
           slots_available = excluded.slots_available, next_expiry = excluded.next_expiry,
           connections_total = excluded.connections_total, connections_connected = excluded.connections_connected,
           connections_need_reconnect = excluded.connections_need_reconnect, read_at = excluded.read_at`,
    [
      accountId,
      slots.total,
      slots.used,
      slots.available,
      slots.nextExpiry === null ? null : Date.parse(slots.nextExpiry),
      connections.total,
      connections.connected,
      connections.needsReconnect,
      now,
    ],
  );
}

/** Reads the figures of an account again when they are old. A failure is logged: a poll does not need them. */
export async function refreshQuota(
  { database, clock, logger }: { database: Database; clock: Clock; logger: Logger },
  client: ServiceClient,
  { id, quotaReadAt }: Account,
  signal: AbortSignal,
): Promise<void> {
  if (quotaReadAt !== null && clock.now() - quotaReadAt < READ_EVERY_MS) return;
  try {
    await storeQuota(database, id, await client.readAccount(signal), clock.now());
  } catch (err) {
    if (!signal.aborted) logger.warn({ err, accountId: id }, 'the slots of an account could not be read');
  }
}

/** Of every account whose figures were read. */
export async function readQuotas(db: Queryable): Promise<Quota[]> {
  return await db.query<Quota>(
    `select account_id as "accountId", slots_total as "slotsTotal", slots_used as "slotsUsed",
            slots_available as "slotsAvailable", next_expiry as "nextExpiry",
            connections_total as "connectionsTotal", connections_connected as "connectionsConnected",
            connections_need_reconnect as "connectionsNeedReconnect", read_at as "readAt"
       from connector.quotas`,
  );
}
