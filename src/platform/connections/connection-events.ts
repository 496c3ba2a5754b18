import type { EventConnection, WebhookEvent } from '../../contract/service/events.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { NewEvent } from '../webhooks/ledger.ts';
import { detailStatus } from './connection-view.ts';
import type { Connection } from './read-connections.ts';
import type { ConnectionEvent } from './transitions.ts';

/**
 * Whether events of a connection go out at a virtual time. [service.qr.events] [service.cloud-api.silent]
 * [events.qr-only] [state.outage.qr-alone] [delivery.unlicensed] [choice.outage.unlicensed]
 */
export function emitsEvents(
  { provider, license }: Pick<Connection, 'provider' | 'license'>,
  at: number,
): boolean {
  return provider === 'qr' && license.expiresAt !== null && license.expiresAt > at;
}

/**
 * The event that tells how a connection stands now. `reason` is advisory and belongs to a break; `at` is
 * virtual epoch ms. The picture to scan is deliberately not in it. [events.disconnected.exact]
 * [events.disconnected.no-qr] [events.connected.payload]
 */
export function connectionTold(
  connection: Connection,
  event: ConnectionEvent,
  reason: string | null,
  at: number,
): NewEvent {
  const { license } = connection;
  const told: EventConnection = {
    id: connection.id,
    phone_number: connection.phoneNumber ?? '',
    label: connection.label,
    status: detailStatus(connection),
    needs_reconnect: connection.needsReconnect,
    license_status: license.status,
    license_expires: license.expiresAt === null ? null : toIso(license.expiresAt),
    reason,
  };
  const payload: WebhookEvent = { event, connection_id: connection.id, connection: told, timestamp: at };
  const { workspaceId, id: connectionId } = connection;
  return { workspaceId, connectionId, messageId: null, event, status: null, payload, at };
}
