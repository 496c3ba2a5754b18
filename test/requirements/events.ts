import { later, section } from './requirement.ts';

const OAUTH = 'OAuth apps are not built yet.';

/** Part 6: events. */
export const EVENTS = [
  ...section('Events', {
    'events.four': 'There are four event types, and no others are sent.',
    'events.post': 'An event is an HTTP POST to the webhook URL of the account.',
    'events.qr-only': 'Events are sent for `qr` connections; `cloud_api` connections emit none.',
    'events.client-ignores': 'A client ignores event types that it does not know.',
    'events.received.fires': '`message.received` fires for a message that arrives, text or media.',
    'events.received.inbound-only': 'Own sends fire no `message.received`.',
    'events.status.fires': '`message.status` fires when the delivery state of an outgoing message changes.',
    'events.status.outbound-only': 'Incoming messages fire no `message.status`.',
    'events.disconnected.fires': '`connection.disconnected` fires once per outage.',
    'events.connected.fires': '`connection.connected` fires once, for a connection that was reported broken.',
    'events.granted': 'A message fires only on a connection that is granted.',
    'events.snake-case': 'Fields of payloads are snake_case.',
    'events.oauth.url': later('An OAuth app sets its webhook URL on the app.', OAUTH),
    'events.oauth.legacy': later(
      'Older subscriptions receive `message.received` alone until they consent again.',
      OAUTH,
    ),
  }),
  ...section('message.received', {
    'events.received.exact': 'The payload has the documented keys and no other.',
    'events.received.id': '`message.id` is the `id` in `GET /messages`.',
    'events.received.wa_id': '`message.wa_id` is a string or null.',
    'events.received.from': '`from` is international digits without a plus sign.',
    'events.received.text': '`text` is a string, and null for media alone.',
    'events.received.media': '`media_url` and `media_type` are strings for a file.',
    'events.received.media-null': '`media_url` and `media_type` are null for a text.',
    'events.received.timestamp': '`timestamp` is epoch milliseconds.',
    'events.received.dedupe': 'A consumer dedupes and joins on `message.id`.',
  }),
  ...section('message.status', {
    'events.status.exact': 'The payload has the documented keys and no other.',
    'events.status.values': '`status` is `sent`, `delivered`, `read` or `failed`.',
    'events.status.id': '`message.id` is the `messageId` of the send.',
    'events.status.timestamp': '`timestamp` is epoch milliseconds.',
  }),
  ...section('connection.disconnected', {
    'events.disconnected.exact': 'The payload has the documented keys and no other.',
    'events.disconnected.status': '`status` is `disconnected`.',
    'events.disconnected.needs_reconnect': '`needs_reconnect` is true.',
    'events.disconnected.reason': '`reason` is one of `AUTH_LOST`, `NEEDS_RECONNECT`, `HEAL_GIVEUP`.',
    'events.disconnected.reason-new': 'A client takes a reason that it does not know.',
    'events.disconnected.timestamp': '`timestamp` is epoch milliseconds.',
    'events.disconnected.no-qr': 'The picture is not in the payload.',
  }),
  ...section('connection.connected', {
    'events.connected.payload':
      'The payload is not shown; here it is that of `connection.disconnected`, with `reason` null.',
  }),
  ...section('Delivery and signature', {
    'delivery.timestamp-header': '`X-Service-Timestamp` is epoch milliseconds.',
    'delivery.signature-header': '`X-Service-Signature` is `sha256=` and hex.',
    'delivery.signature':
      'The signature is HMAC-SHA256 over `<timestamp>.<raw body>`, keyed with the secret.',
    'delivery.verify.raw-bytes': 'A receiver verifies the raw bytes before it parses them.',
    'delivery.verify.constant-time': 'A receiver compares signatures in constant time.',
    'delivery.verify.stale': 'A receiver refuses a timestamp more than 5 minutes old.',
    'delivery.success': 'Any 2xx is success.',
    'delivery.failure': 'Any other answer is a failure.',
    'delivery.redirect': 'A redirect is a failure and is not followed.',
    'delivery.attempts': 'An event has three attempts: at once, after 500 ms, after 1 s.',
    'delivery.timeout': 'An attempt times out after 10 s.',
    'delivery.dropped': 'After the last failure an event is dropped; nothing is sent later.',
    'delivery.duplicates': 'Duplicates are possible; a consumer dedupes on `message.id`.',
    'delivery.order': 'Order is not guaranteed; a consumer orders by `timestamp`.',
    'delivery.identical': 'A retry sends the identical body, timestamp and signature.',
    'delivery.reconcile': 'A client repairs what was dropped by polling `GET /messages`.',
    'delivery.reconcile-period': 'A client polls every 30 to 60 s.',
    'delivery.unlicensed': 'No event is sent while the licence is expired.',
  }),
];
