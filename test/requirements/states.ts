import { section } from './requirement.ts';

/** Part 3: states and transitions. */
export const STATES = [
  ...section('Connection status', {
    'state.values': 'A connection is `connecting`, `connected` (`open` in the list) or `disconnected`.',
    'state.needs-reconnect': 'A flag marks a connection whose owner must pair it again.',
    'state.created.connecting': 'A new connection is `connecting`.',
    'state.created.qr': 'Creating a connection starts a pairing session and returns its first QR code.',
    'state.created.claims-nothing':
      'Creating a connection claims no slot and starts no trial; both happen when the number pairs.',
    'state.paired.scan': 'Scanning the QR code makes a connection `connected`.',
    'state.paired.code': 'Typing the pairing code makes a connection `connected`.',
    'state.paired.silent': 'The first pairing sends no `connection.connected`.',
    'state.paired.reported': 'Pairing again after a reported outage sends `connection.connected`.',
    'state.outage.session-lost': 'A lost session disconnects the connection.',
    'state.outage.phone-off': 'A phone that is switched off disconnects the connection.',
    'state.outage.session-ageing': 'An ageing session disconnects the connection.',
    'state.outage.opened-elsewhere': 'Opening the session elsewhere disconnects the connection.',
    'state.outage.needs-reconnect': 'A detected outage sets `needs_reconnect`.',
    'state.outage.detected': 'The status probe detects an outage within 5 minutes.',
    'state.outage.heal-first':
      'When an automatic heal is tried first, an outage is detected after 15 to 20 minutes.',
    'state.outage.reported-once': 'Each outage is reported once, by `connection.disconnected`.',
    'state.outage.qr-alone': 'Outages are reported for `qr` connections only.',
    'state.outage.counted': 'A connection with a detected outage counts in `connections.needsReconnect`.',
    'state.restart.connecting': 'A restart that needs a new QR code makes the connection `connecting`.',
    'state.restart.poll': 'After a restart, the detail returns the QR codes to scan.',
    'state.recovered.connected': 'A broken connection that works again is `connected`.',
    'state.recovered.reported-once': 'Each recovery is reported once, by `connection.connected`.',
    'state.logout.session': 'A logout ends the session and clears its credentials, whatever the status.',
    'state.logout.record': 'A logout keeps the connection record.',
    'state.logout.return': 'After a logout, a restart and a new QR scan reconnect the connection.',
    'state.delete.gone': 'Deleting a connection removes it permanently, whatever its status.',
    'state.delete.slot': 'Deleting a connection returns its slot with the remaining time.',
    'state.delete.id-retired': 'The id of a deleted connection is never reused.',
    'state.pairing-code.unchanged': 'Requesting a pairing code does not change the status.',
    'state.pairing-code.live':
      'Requesting a pairing code for a live session returns 409 `already_connected`.',
  }),
  ...section('Message status ladder', {
    'status.values': 'The statuses are `sent` (rank 1), `delivered` (2), `read` (3) and `failed`.',
    'status.sent-delivered': 'A delivery update moves `sent` to `delivered`.',
    'status.delivered-read': 'A read update moves `delivered` to `read`.',
    'status.sent-failed': 'A failure update moves `sent` to `failed`.',
    'status.delivered-failed': 'A failure update moves `delivered` to `failed`.',
    'status.failed-terminal': '`failed` is terminal.',
    'status.failed-not-after-read': '`failed` does not follow `read`.',
    'status.read-early': '`read` may arrive before `delivered`.',
    'status.consumer.rank': 'A consumer applies an update only if its rank is higher than the stored one.',
    'status.consumer.duplicates': 'A consumer ignores a duplicate update.',
    'status.consumer.never-back': 'A consumer never moves a status backwards.',
  }),
];
