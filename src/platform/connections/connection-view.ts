import type { ConnectionDetail, ConnectionListItem } from '../../contract/service/connections.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Connection } from './read-connections.ts';

function listStatus(connection: Connection): string {
  return connection.state === 'live' ? ASSUMPTIONS.liveStatusInList.value : connection.state;
}

/** The state as the detail and the events name it. */
export function detailStatus({
  state,
}: Pick<Connection, 'state'>): Exclude<Connection['state'], 'live'> | 'connected' {
  return state === 'live' ? 'connected' : state;
}

/**
 * A connection in `GET /connections`, deprecated aliases included. `neutralPicture` stands in where the
 * number has none. Implements `Connection list item`.
 */
export function toListItem(connection: Connection, neutralPicture: string): ConnectionListItem {
  const phoneNumber = connection.phoneNumber ?? '';
  const { label, licence } = connection;
  return {
    id: connection.id,
    phoneNumber,
    label,
    status: listStatus(connection),
    isDefault: connection.isDefault,
    provider: connection.provider,
    tier: connection.tier,
    profilePicUrl: connection.profilePicUrl ?? neutralPicture,
    licenseValid: licence.valid,
    licenseStatus: licence.status,
    licenseExpires: licence.expiresAt === null ? null : toIso(licence.expiresAt),
    phone: phoneNumber,
    name: label,
  };
}

/** A connection in `GET /connections/{id}`, deprecated aliases included. `qr` is the picture to scan, if any. */
export function toDetail(connection: Connection, qr: string | null): ConnectionDetail {
  const { phoneNumber, licence } = connection;
  const licenseExpires = licence.expiresAt === null ? null : toIso(licence.expiresAt);
  return {
    id: connection.id,
    status: detailStatus(connection),
    phoneNumber,
    label: connection.label,
    provider: connection.provider,
    licenseStatus: licence.status,
    licenseExpires,
    ...(qr === null ? {} : { qr }),
    phone: phoneNumber,
    license_status: licence.status,
    license_expires: licenseExpires,
  };
}
