import { notModeled, section } from './requirement.ts';

/** Part 2: resources and their fields. */
export const RESOURCES = [
  ...section('Resources and their fields', {
    'wire.names': 'Scope names start with `messaging.`; delivery header names start with `X-Service-`.',
    'wire.timestamps.rest': 'REST timestamps are ISO 8601 date-times.',
    'wire.timestamps.webhook': 'Webhook timestamps are epoch milliseconds, as numbers.',
  }),
  ...section('Connection list item', {
    'connections.item.exact': 'A list item has exactly the documented keys.',
    'connections.item.id': '`id` is a string that the service assigns and never changes.',
    'connections.item.phoneNumber': '`phoneNumber` is a string of international digits without a `+`.',
    'connections.item.label': '`label` is a string.',
    'connections.item.status': '`status` is a string; `open` means that the connection is live.',
    'connections.item.isDefault': '`isDefault` is a boolean.',
    'connections.item.provider': '`provider` is `qr` or `cloud_api`.',
    'connections.item.tier': '`tier` is a string such as `basic`.',
    'connections.item.profilePicUrl': '`profilePicUrl` is a URI.',
    'connections.item.licenseValid': '`licenseValid` is a boolean.',
    'connections.item.licenseStatus': '`licenseStatus` is a string such as `active`.',
    'connections.item.licenseExpires': '`licenseExpires` is a date-time.',
    'connections.item.phone': '`phone` is an alias of `phoneNumber`, with the same value.',
    'connections.item.name': '`name` is an alias of `label`, with the same value.',
  }),
  ...section('Connection detail', {
    'connections.detail.exact': 'The detail has exactly the documented keys.',
    'connections.detail.id': '`id` is a string.',
    'connections.detail.status': '`status` is `connecting`, `connected` or another status.',
    'connections.detail.phoneNumber': '`phoneNumber` contains only digits.',
    'connections.detail.label': '`label` is a string.',
    'connections.detail.provider': '`provider` is `qr` or `cloud_api`.',
    'connections.detail.licenseStatus': '`licenseStatus` is a string such as `active`.',
    'connections.detail.licenseExpires': '`licenseExpires` is a date-time.',
    'connections.detail.qr': '`qr` is a PNG as a data URI, with a new pairing code on every read.',
    'connections.detail.phone': '`phone` is an alias of `phoneNumber`, with the same value.',
    'connections.detail.license_status':
      '`license_status` is an alias of `licenseStatus`, with the same value.',
    'connections.detail.license_expires':
      '`license_expires` is an alias of `licenseExpires`, with the same value.',
  }),
  ...section('Created connection', {
    'connections.created.exact': 'A created connection has exactly `id`, `status` and `qr`.',
    'connections.created.id': '`id` is a string.',
    'connections.created.status': '`status` is `connecting`.',
    'connections.created.qr': '`qr` is a PNG as a data URI that is stale within seconds.',
  }),
  ...section('Create request body', {
    'connections.create.body.optional': 'The request body is optional.',
    'connections.create.body.label': '`label` is an optional string.',
    'connections.create.body.others': notModeled(
      'Other fields of the create request.',
      'The specification does not describe them; they are ignored.',
    ),
  }),
  ...section('Message', {
    'messages.item.exact': 'A message has exactly the documented keys.',
    'messages.item.id': '`id` is a string, and the only id to join on.',
    'messages.item.waMessageId': '`waMessageId` is a string or null, for debugging only.',
    'messages.item.waMessageId.no-join': 'A client never joins or dedupes on `waMessageId`.',
    'messages.item.connectionId': '`connectionId` is a string.',
    'messages.item.direction': '`direction` is `incoming` or `outgoing`.',
    'messages.item.text': '`text` is a string or null.',
    'messages.item.mediaUrl': '`mediaUrl` is a string or null.',
    'messages.item.mediaType': '`mediaType` is a string or null.',
    'messages.item.status': '`status` is one of the message statuses.',
    'messages.item.errorMessage': '`errorMessage` is a string or null.',
    'messages.item.createdAt': '`createdAt` is a date-time.',
  }),
  ...section('Media object', {
    'media.filename': '`filename` is a required string.',
    'media.mimetype': '`mimetype` is a required string.',
    'media.data': '`data` is required and holds at most 16 MB of base64.',
    'media.caption': '`caption` is an optional string.',
    'media.voice-note': 'A voice note has the type `audio/ogg` and a file name like `voice-*.ogg`.',
  }),
  ...section('Account', {
    'account.exact': 'The account has exactly the documented keys.',
    'account.slots.total': '`slots.total` is an integer.',
    'account.slots.used': '`slots.used` is an integer.',
    'account.slots.available':
      '`slots.available` is the number of connections that can still be created with an active license.',
    'account.slots.nextExpiry': '`slots.nextExpiry` is the date-time before which to renew.',
    'account.connections.total': '`connections.total` is an integer.',
    'account.connections.connected': '`connections.connected` is an integer.',
    'account.connections.needsReconnect':
      '`connections.needsReconnect` counts the numbers that are waiting for a new QR scan.',
  }),
  ...section('Webhook configuration', {
    'webhook.config.url': '`url` is an HTTPS URL on a publicly reachable host.',
    'webhook.config.events': '`events` lists the four event types.',
    'webhook.config.secret': '`secret` is returned only by `PUT /webhook` and `POST /webhook/rotate`.',
    'webhook.config.secretSet': '`GET /webhook` returns the boolean `secretSet` instead of the secret.',
    'webhook.config.one': 'An account has exactly one webhook URL.',
    'webhook.config.moves': 'Setting the URL again moves the endpoint.',
    'webhook.config.no-delete': 'The webhook cannot be deleted.',
  }),
  ...section('Error body', {
    'errors.body.code': 'An error body is `{ error: <code> }`.',
    'errors.body.field': 'With `invalid_request`, `field` names the offending input key.',
    'errors.body.hint': 'With `invalid_request`, the body may include a string `hint`.',
    'errors.body.no-more': 'With any code other than `invalid_request`, the body contains only `error`.',
  }),
  ...section('Other shapes', {
    'shapes.acknowledgement': 'An acknowledgement is `{ ok: true }`.',
    'shapes.restart': 'A restart returns `{ ok, recreated }`, both booleans.',
    'shapes.pairing-code':
      'A pairing code is returned as `{ code }`: two groups of four characters joined by a hyphen.',
    'shapes.read-receipt': 'A read receipt returns `{ ok: true, marked }`; `marked` is an integer.',
  }),
];
