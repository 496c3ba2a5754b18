import type { ConnectionDetail, ConnectionListItem } from '../../contract/service/connections.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Connection } from './read-connections.ts';

// [connections.item.status] [state.values]
function listStatus(connection: Connection): string {
  return connection.state === 'live' ? ASSUMPTIONS.liveStatusInList.value : connection.state;
}

/** The state by its name in the detail and in events. [connections.detail.status] [state.values] */
export function detailStatus({
  state,
}: Pick<Connection, 'state'>): Exclude<Connection['state'], 'live'> | 'connected' {
  return state === 'live' ? 'connected' : state;
}

/**
 * A connection in `GET /connections`, including deprecated aliases. `neutralPicture` is used if the number has no
 * picture. [connections.item.exact]
 */
export function toListItem(connection: Connection, neutralPicture: string): ConnectionListItem {
  const phoneNumber = connection.phoneNumber ?? '';
  const { label, license } = connection;
  return {
    id: connection.id,
    phoneNumber,
    label,
    status: listStatus(connection),
    isDefault: connection.isDefault,
    provider: connection.provider,
    tier: connection.tier,
    profilePicUrl: connection.profilePicUrl ?? neutralPicture, // [choice.picture.neutral]
    licenseValid: license.valid,
    licenseStatus: license.status,
    licenseExpires: license.expiresAt === null ? null : toIso(license.expiresAt),
    // [versioning.aliases] [connections.item.phone] [connections.item.name]
    phone: phoneNumber,
    name: label,
  };
}

/**
 * A connection in `GET /connections/{id}`, including deprecated aliases. `qr` is the QR code to scan, if any.
 * [connections.detail.exact]
 */
export function toDetail(connection: Connection, qr: string | null): ConnectionDetail {
  const { phoneNumber, license } = connection;
  const licenseExpires = license.expiresAt === null ? null : toIso(license.expiresAt);
  return {
    id: connection.id,
    status: detailStatus(connection),
    phoneNumber,
    label: connection.label,
    provider: connection.provider,
    licenseStatus: license.status,
    licenseExpires,
    ...(qr === null ? {} : { qr }),
    // [versioning.aliases] [connections.detail.phone]
    phone: phoneNumber,
    // [connections.detail.license_status] [connections.detail.license_expires]
    license_status: license.status,
    license_expires: licenseExpires,
  };
}
