import { section } from './requirement.ts';

/** Part 4: the rules of each endpoint. */
export const ENDPOINT_RULES = [
  ...section('POST /connections', {
    'connections.create.qr-kind': 'A created connection is of kind `qr`.',
    'connections.create.standalone-only':
      'Only a standalone workspace creates; another gets 403 `forbidden_portal_kind`.',
    'connections.create.first-by-key': 'An API key can create the first connection of a workspace.',
    'connections.create.first-not-by-oauth': 'A grant alone cannot create the first connection.',
    'connections.create.over-quota':
      'Beyond the quota a connection is created and stays without an active licence.',
    'connections.create.rotation': 'The network changes the pairing code about every 20 s.',
    'connections.create.client-polls':
      'A client reads the detail every 3 to 5 s and shows each picture until `connected`.',
    'connections.create.idempotency.only-here': '`Idempotency-Key` has effect on this endpoint alone.',
    'connections.create.idempotency.new': 'A new key provisions and answers 201.',
    'connections.create.idempotency.replay':
      'The same key and body within 24 hours answers 200 with the same connection.',
    'connections.create.idempotency.replay-header': 'A replay says `Idempotency-Replayed: true`.',
    'connections.create.idempotency.replay-nothing': 'A replay provisions nothing.',
    'connections.create.idempotency.replay-qr': 'A replay shows a fresh picture.',
    'connections.create.idempotency.reuse':
      'The same key with another body answers 400 `idempotency_key_reuse`.',
    'connections.create.idempotency.in-flight':
      'While the first request runs, the key answers 409 `idempotency_in_progress`.',
    'connections.create.idempotency.in-flight-wait': 'That 409 says `Retry-After: 1`.',
    'connections.create.idempotency.too-long':
      'A key of more than 255 characters answers 400 `idempotency_key_invalid`.',
    'connections.create.idempotency.not-cut':
      'A key is never cut: 255 characters are good, and differ by their last one.',
    'connections.create.idempotency.blank': 'A blank key counts as none.',
    'connections.create.idempotency.canonical': 'The order of keys in the body makes no difference.',
    'connections.create.idempotency.per-workspace': 'Two workspaces can use the same key.',
    'connections.create.idempotency.lifetime': 'After 24 hours a key is free again.',
  }),
  ...section('GET /connections/{id}', {
    'connections.get.qr-new': 'Two reads show two pictures.',
  }),
  ...section('DELETE /connections/{id}', {
    'connections.delete.permanent': 'A deletion is for good.',
  }),
  ...section('POST /connections/{id}/restart', {
    'connections.restart.keeps-record': 'A restart keeps the record.',
    'connections.restart.new-qr':
      'When the status is `connecting` after a restart, the detail shows pictures.',
  }),
  ...section('POST /connections/{id}/logout', {
    'connections.logout.keeps-record': 'A logout keeps the record.',
    'connections.logout.clears': 'A logout clears the credentials of the session.',
  }),
  ...section('POST /connections/{id}/pairing-code', {
    'connections.pairing-code.digits':
      '`phoneNumber` is digits alone; anything else answers 400 `invalid_phone_number`.',
    'connections.pairing-code.no-clean-up':
      'A number with a plus sign, spaces or hyphens is refused, never cleaned up.',
    'connections.pairing-code.qr-only': 'A `cloud_api` connection answers 409 `not_supported_for_provider`.',
    'connections.pairing-code.live': 'A live session answers 409 `already_connected`.',
    'connections.pairing-code.declined': 'The engine may decline: 502 `pairing_code_unavailable`.',
    'connections.pairing-code.again': 'Each call answers a new code.',
    'connections.pairing-code.no-rebuild':
      'A new code does not rebuild the session: the picture goes on working.',
    'connections.pairing-code.cap':
      'The sixth request within 15 minutes answers 429 `rate_limited` with `Retry-After`.',
    'connections.pairing-code.cap-per-connection': 'The cap counts for each connection apart.',
    'connections.pairing-code.consumes-nothing':
      'A code takes no slot of its own; slot and trial are claimed when the number pairs.',
    'connections.pairing-code.no-event': 'No event tells that a code was taken; the status does.',
    'connections.pairing-code.fallback': 'A client that gets no code goes on with the picture.',
  }),
  ...section('GET /messages', {
    'messages.list.newest-first': 'Messages come newest first.',
    'messages.list.scoped': 'Only messages of connections that the credential reaches are listed.',
    'messages.list.filter': '`connectionId` limits the list to one connection.',
    'messages.list.foreign-empty': 'A `connectionId` outside the grant answers an empty page.',
    'messages.list.limit': '`limit` is an integer from 1 to 100.',
    'messages.list.limit-default': 'Without `limit` a page has 20 messages.',
    'messages.list.cursor': '`cursor` is opaque and goes on after the page that gave it.',
  }),
  ...section('POST /messages', {
    'messages.send.connectionId': '`connectionId` is a required string.',
    'messages.send.to': '`to` is required: international digits without a plus sign.',
    'messages.send.text': '`text` has at most 4096 characters.',
    'messages.send.media': '`media` is a media object.',
    'messages.send.key-in-body': '`idempotencyKey` stands in the body and is optional.',
    'messages.send.key-uuid': 'A client gives each logical send a UUID of its own.',
    'messages.send.both': 'Both of `text` and `media` answer 400 `text_or_media`.',
    'messages.send.one': 'A send has exactly one of `text` and `media`.',
    'messages.send.id-joins': '`messageId` is the `id` in `GET /messages` and the `message.id` of webhooks.',
    'messages.send.wa-null': '`waMessageId` may be null.',
    'messages.send.wa-media': 'A media send may name the network id `wa_message_id`.',
    'messages.send.degraded':
      'Delivered and not stored answers 200 with `messageId` null and `persisted` false.',
    'messages.send.degraded-no-retry': 'A client does not repeat a send that was delivered and not stored.',
    'messages.send.retry': 'A repeat with the same `idempotencyKey` sends once.',
    'messages.send.in-progress': 'While the first send runs, a repeat answers 409 `in_progress`.',
    'messages.send.latency-qr': 'A `qr` send takes 1 to 7 s.',
    'messages.send.latency-long': 'A long text takes up to about 20 s.',
    'messages.send.latency-heal': 'A send that waits for the session to heal takes up to about 2.5 minutes.',
    'messages.send.latency-cloud-api': 'A `cloud_api` send takes about 1 s.',
    'messages.send.client-timeout': 'A client waits at least 180 s for a send.',
  }),
  ...section('POST /messages/read', {
    'messages.read.connection-required': '`connectionId` is always required.',
    'messages.read.one-required': 'At least one of `phone` and `messageId` is required.',
    'messages.read.incoming': '`messageId` is the id of an incoming message.',
    'messages.read.no-network-id': 'The network id of a message is not taken for its id.',
    'messages.read.message-wins': '`messageId` wins over `phone`.',
    'messages.read.idempotent': 'A repeated receipt is answered and changes nothing.',
    'messages.read.no-rate-limit': 'Receipts have no rate limit.',
    'messages.read.qr-chat': 'On a `qr` connection the whole chat is marked.',
    'messages.read.cloud-api-one': 'On a `cloud_api` connection one message is marked.',
    'messages.read.cloud-api-phone':
      'On a `cloud_api` connection a phone alone marks the latest message from it.',
  }),
  ...section('Webhook', {
    'webhook.url.https': 'An `http` address answers 400 `invalid_webhook`.',
    'webhook.url.localhost': '`localhost` answers 400 `invalid_webhook`.',
    'webhook.url.private': 'A private address answers 400 `invalid_webhook`.',
    'webhook.put.issues': '`PUT /webhook` issues the secret.',
    'webhook.get.no-secret': '`GET /webhook` never shows the secret.',
    'webhook.rotate.at-once': 'A rotation voids the old secret at once, without overlap.',
  }),
  ...section('Tool server', {
    'tools.list': '`list_messaging_connections` is offered at `/api/mcp`.',
    'tools.send': '`send_messaging_message` is offered at `/api/mcp`.',
    'tools.read': '`read_messaging_messages` is offered at `/api/mcp`.',
    'tools.shapes': 'The tools have shapes of ours for input and output, as no others are shown.',
  }),
];
