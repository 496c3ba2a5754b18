import { notModelled, section } from './requirement.ts';

/** Part 2: resources and their fields. */
export const RESOURCES = [
  ...section('Resources and their fields', {
    'wire.timestamps.rest': 'REST timestamps are ISO 8601 date-times.',
    'wire.timestamps.webhook': 'Webhook timestamps are epoch milliseconds, as numbers.',
  }),
  ...section('Connection list item', {
    'connections.item.exact': 'A list item has the documented keys and no other.',
    'connections.item.id': '`id` is a string that the service assigns and never changes.',
    'connections.item.phoneNumber': '`phoneNumber` is a string of international digits without a plus sign.',
    'connections.item.label': '`label` is a string.',
    'connections.item.status': '`status` is a string, `open` for a live connection.',
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
    'connections.detail.exact': 'The detail has the documented keys and no other.',
    'connections.detail.id': '`id` is a string.',
    'connections.detail.status': '`status` is `connecting`, `connected` or another state.',
    'connections.detail.phoneNumber': '`phoneNumber` is digits only.',
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
    'connections.created.exact': 'A created connection shows `id`, `status` and `qr`, nothing else.',
    'connections.created.id': '`id` is a string.',
    'connections.created.status': '`status` is `connecting`.',
    'connections.created.qr': '`qr` is a PNG as a data URI that goes stale within seconds.',
  }),
  ...section('Create request body', {
    'connections.create.body.optional': 'The body may be left out.',
    'connections.create.body.label': '`label` is an optional string.',
    'connections.create.body.others': notModelled(
      'Other fields of the body.',
      'The specification does not show them; they are ignored.',
    ),
  }),
  ...section('Message', {
    'messages.item.exact': 'A message has the documented keys and no other.',
    'messages.item.id': '`id` is a string, and the only id to join on.',
    'messages.item.waMessageId': '`waMessageId` is a string or null, for debugging alone.',
    'messages.item.waMessageId.no-join': 'A client never joins or dedupes on `waMessageId`.',
    'messages.item.connectionId': '`connectionId` is a string.',
    'messages.item.direction': '`direction` is `incoming` or `outgoing`.',
    'messages.item.text': '`text` is a string or null.',
    'messages.item.mediaUrl': '`mediaUrl` is a string or null.',
    'messages.item.mediaType': '`mediaType` is a string or null.',
    'messages.item.status': '`status` is a step of the ladder.',
    'messages.item.errorMessage': '`errorMessage` is a string or null.',
    'messages.item.createdAt': '`createdAt` is a date-time.',
  }),
  ...section('Media object', {
    'media.filename': '`filename` is a required string.',
    'media.mimetype': '`mimetype` is a required string.',
    'media.data': '`data` is required base64 of at most 16 MB.',
    'media.caption': '`caption` is an optional string.',
    'media.voice-note': 'A voice note is `audio/ogg` under a name like `voice-*.ogg`.',
  }),
  ...section('Account', {
    'account.exact': 'The account has the documented keys and no other.',
    'account.slots.total': '`slots.total` is an integer.',
    'account.slots.used': '`slots.used` is an integer.',
    'account.slots.available': '`slots.available` counts what can still be paired with an active licence.',
    'account.slots.nextExpiry': '`slots.nextExpiry` is the date-time by which to renew.',
    'account.connections.total': '`connections.total` is an integer.',
    'account.connections.connected': '`connections.connected` is an integer.',
    'account.connections.needsReconnect':
      '`connections.needsReconnect` counts numbers that wait for a new scan.',
  }),
  ...section('Webhook configuration', {
    'webhook.config.url': '`url` is HTTPS on a publicly reachable host.',
    'webhook.config.events': '`events` lists the four event types.',
    'webhook.config.secret': '`secret` is shown by `PUT /webhook` and by a rotation, nowhere else.',
    'webhook.config.secretSet': '`secretSet` is a boolean that `GET /webhook` shows in place of the secret.',
    'webhook.config.one': 'An account has exactly one webhook URL.',
    'webhook.config.moves': 'Setting the URL again moves the endpoint.',
    'webhook.config.no-delete': 'There is no call that deletes the webhook.',
  }),
  ...section('Error body', {
    'errors.body.code': 'A refusal is `{ error: <code> }`.',
    'errors.body.field': 'With `invalid_request`, `field` names the offending key.',
    'errors.body.hint': 'With `invalid_request`, `hint` may say more; it is a string.',
    'errors.body.no-more': 'Codes other than `invalid_request` bring `error` alone.',
  }),
  ...section('Other shapes', {
    'shapes.acknowledgement': 'An acknowledgement is `{ ok: true }`.',
    'shapes.restart': 'A restart answers `{ ok, recreated }`, both booleans.',
    'shapes.pairing-code':
      'A pairing code is `{ code }`: two groups of four characters with a hyphen between.',
    'shapes.read-receipt': 'A read receipt answers `{ ok: true, marked }` with an integer.',
  }),
];
