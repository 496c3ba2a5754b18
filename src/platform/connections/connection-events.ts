import type { EventConnection, WebhookEvent } from '../../contract/service/events.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { NewEvent } from '../webhooks/ledger.ts';
import { detailStatus } from './connection-view.ts';
import type { Connection } from './read-connections.ts';
import type { ConnectionEvent } from './transitions.ts';

/**
 * Whether a connection emits events at a virtual time. [service.qr.events] [service.cloud-api.silent]
 * [events.qr-only] [state.outage.qr-alone] [delivery.unlicensed] [choice.outage.unlicensed]
 */
export function emitsEvents(
  { provider, license }: Pick<Connection, 'provider' | 'license'>,
  at: number,
): boolean {
  return provider === 'qr' && license.expiresAt !== null && license.expiresAt > at;
}

/**
 * The event that reports the present state of a connection. `reason` is advisory, for outages; `at` is virtual epoch
 * ms. The QR code is deliberately not included. [events.disconnected.exact]
 * [events.disconnected.no-qr] [events.connected.payload]
 */
export function connectionEvent(
  connection: Connection,
  event: ConnectionEvent,
  reason: string | null,
  at: number,
): NewEvent {
  const { license } = connection;
  const reported: EventConnection = {
    id: connection.id,
    phone_number: connection.phoneNumber ?? '',
    label: connection.label,
    status: detailStatus(connection),
    needs_reconnect: connection.needsReconnect,
    license_status: license.status,
    license_expires: license.expiresAt === null ? null : toIso(license.expiresAt),
    reason,
  };
  const payload: WebhookEvent = { event, connection_id: connection.id, connection: reported, timestamp: at };
  const { workspaceId, id: connectionId } = connection;
  return { workspaceId, connectionId, messageId: null, event, status: null, payload, at };
}
