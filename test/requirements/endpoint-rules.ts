import { section } from './requirement.ts';

/** Part 4: the rules of each endpoint. */
export const ENDPOINT_RULES = [
  ...section('POST /connections', {
    'connections.create.qr-kind': 'A created connection has the provider `qr`.',
    'connections.create.standalone-only':
      'Only a standalone workspace can create a connection; any other gets 403 `forbidden_portal_kind`.',
    'connections.create.first-by-key': 'An API key can create the first connection of a workspace.',
    'connections.create.first-not-by-oauth':
      'An OAuth grant cannot create the first connection of a workspace.',
    'connections.create.over-quota':
      'A connection created beyond the slot quota stays without an active license.',
    'connections.create.rotation': 'The network rotates the pairing code about every 20 s.',
    'connections.create.client-polls':
      'A client polls the detail every 3 to 5 s and renders each `qr` until the status is `connected`.',
    'connections.create.idempotency.only-here': '`Idempotency-Key` applies to this endpoint only.',
    'connections.create.idempotency.new': 'A new key provisions a connection and returns 201.',
    'connections.create.idempotency.replay':
      'The same key and body within 24 hours returns 200 with the same connection.',
    'connections.create.idempotency.replay-header':
      'A replay carries the header `Idempotency-Replayed: true`.',
    'connections.create.idempotency.replay-nothing': 'A replay provisions nothing.',
    'connections.create.idempotency.replay-qr': 'A replay returns a freshly fetched `qr`.',
    'connections.create.idempotency.reuse':
      'The same key with a different body returns 400 `idempotency_key_reuse`.',
    'connections.create.idempotency.in-flight':
      'While the first request is in flight, the same key returns 409 `idempotency_in_progress`.',
    'connections.create.idempotency.in-flight-wait': 'That 409 carries `Retry-After: 1`.',
    'connections.create.idempotency.too-long':
      'A key longer than 255 characters returns 400 `idempotency_key_invalid`.',
    'connections.create.idempotency.not-cut':
      'A key is never truncated: two keys of 255 characters that differ in the last one are different keys.',
    'connections.create.idempotency.blank': 'A blank or whitespace-only key is treated as absent.',
    'connections.create.idempotency.canonical': 'The order of the JSON keys in the body is irrelevant.',
    'connections.create.idempotency.per-workspace': 'Two workspaces can use the same key.',
    'connections.create.idempotency.lifetime': 'A key can be reused after 24 hours.',
  }),
  ...section('GET /connections/{id}', {
    'connections.get.qr-new': 'Every read returns a new `qr`.',
  }),
  ...section('DELETE /connections/{id}', {
    'connections.delete.permanent': 'A deletion is permanent.',
  }),
  ...section('POST /connections/{id}/restart', {
    'connections.restart.keeps-record': 'A restart keeps the connection record.',
    'connections.restart.new-qr': 'If the status is `connecting` after a restart, the detail returns a `qr`.',
  }),
  ...section('POST /connections/{id}/logout', {
    'connections.logout.keeps-record': 'A logout keeps the connection record.',
    'connections.logout.clears': 'A logout clears the session credentials.',
  }),
  ...section('POST /connections/{id}/pairing-code', {
    'connections.pairing-code.digits':
      '`phoneNumber` contains only digits; anything else returns 400 `invalid_phone_number`.',
    'connections.pairing-code.no-clean-up':
      'A number with a `+`, spaces or hyphens is rejected and never cleaned up.',
    'connections.pairing-code.qr-only': 'A `cloud_api` connection returns 409 `not_supported_for_provider`.',
    'connections.pairing-code.live': 'A live session returns 409 `already_connected`.',
    'connections.pairing-code.declined':
      'If the engine declines, the response is 502 `pairing_code_unavailable`.',
    'connections.pairing-code.again': 'Each call returns a new code.',
    'connections.pairing-code.no-rebuild':
      'A new code does not rebuild the session: the QR code remains valid.',
    'connections.pairing-code.cap':
      'The sixth request within 15 minutes returns 429 `rate_limited` with `Retry-After`.',
    'connections.pairing-code.cap-per-connection': 'Each connection has its own cap.',
    'connections.pairing-code.consumes-nothing':
      'A code consumes no extra slot; slot and trial are claimed when the number pairs.',
    'connections.pairing-code.no-event':
      'There is no separate event for an accepted code; success shows in the status.',
    'connections.pairing-code.fallback': 'A client that gets no code falls back to the QR code.',
  }),
  ...section('GET /messages', {
    'messages.list.newest-first': 'Messages are returned newest first.',
    'messages.list.scoped': 'The list contains only messages of connections that the credential can access.',
    'messages.list.filter': '`connectionId` limits the list to one connection.',
    'messages.list.foreign-empty': 'A `connectionId` outside the grant returns an empty page.',
    'messages.list.limit': '`limit` is an integer from 1 to 100.',
    'messages.list.limit-default': 'Without `limit`, a page has at most 20 messages.',
    'messages.list.cursor': '`cursor` is opaque and continues after the page that returned it.',
  }),
  ...section('POST /messages', {
    'messages.send.connectionId': '`connectionId` is a required string.',
    'messages.send.to': '`to` is required: international digits without a `+`.',
    'messages.send.text': '`text` has at most 4096 characters.',
    'messages.send.media': '`media` is a media object.',
    'messages.send.key-in-body': '`idempotencyKey` is part of the body and optional.',
    'messages.send.key-uuid': 'A client gives each logical send its own UUID.',
    'messages.send.both': 'A send with both `text` and `media` returns 400 `text_or_media`.',
    'messages.send.one': 'A send has exactly one of `text` and `media`.',
    'messages.send.id-joins': '`messageId` equals `id` in `GET /messages` and `message.id` in webhooks.',
    'messages.send.wa-null': '`waMessageId` may be null.',
    'messages.send.wa-media': 'A media send may name the network id `wa_message_id`.',
    'messages.send.degraded':
      'A message delivered but not stored returns 200 with `messageId` null and `persisted` false.',
    'messages.send.degraded-no-retry': 'A client does not retry a send that was delivered but not stored.',
    'messages.send.retry': 'A retry with the same `idempotencyKey` does not send a second message.',
    'messages.send.in-progress': 'While the first send is in progress, a retry returns 409 `in_progress`.',
    'messages.send.latency-qr': 'A `qr` send takes 1 to 7 s.',
    'messages.send.latency-long': 'A long text takes up to about 20 s.',
    'messages.send.latency-heal': 'A `qr` send takes up to about 2.5 minutes while the session heals itself.',
    'messages.send.latency-cloud-api': 'A `cloud_api` send takes about 1 s.',
    'messages.send.client-timeout': 'A client uses a timeout of at least 180 s for a send.',
  }),
  ...section('POST /messages/read', {
    'messages.read.connection-required': '`connectionId` is always required.',
    'messages.read.one-required': 'At least one of `phone` and `messageId` is required.',
    'messages.read.incoming': '`messageId` is the id of an incoming message.',
    'messages.read.no-network-id': 'The network id of a message is not accepted as its `messageId`.',
    'messages.read.message-wins': '`messageId` takes precedence over `phone`.',
    'messages.read.idempotent': 'A repeated read receipt succeeds and changes nothing.',
    'messages.read.no-rate-limit': 'Receipts have no rate limit.',
    'messages.read.qr-chat': 'On a `qr` connection, the whole chat is marked as read.',
    'messages.read.cloud-api-one': 'On a `cloud_api` connection, one message is marked as read.',
    'messages.read.cloud-api-phone':
      'On a `cloud_api` connection, `phone` without `messageId` marks the latest incoming message from that number.',
  }),
  ...section('Webhook', {
    'webhook.url.https': 'An `http` URL returns 400 `invalid_webhook`.',
    'webhook.url.localhost': 'A `localhost` URL returns 400 `invalid_webhook`.',
    'webhook.url.private': 'A URL with a private address returns 400 `invalid_webhook`.',
    'webhook.put.issues': '`PUT /webhook` issues the secret.',
    'webhook.get.no-secret': '`GET /webhook` never returns the secret.',
    'webhook.rotate.at-once': 'A rotation invalidates the old secret instantly, with no overlap.',
  }),
  ...section('Tool server', {
    'tools.list': 'The tool `list_messaging_connections` is available at `/api/mcp`.',
    'tools.send': 'The tool `send_messaging_message` is available at `/api/mcp`.',
    'tools.read': 'The tool `read_messaging_messages` is available at `/api/mcp`.',
    'tools.shapes':
      'The specification gives no input or output shapes for the tools; the project defines its own.',
  }),
];
