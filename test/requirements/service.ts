import { notModeled, section } from './requirement.ts';

/** Part 1: what the service does. */
export const SERVICE = section('What the service does', {
  'service.resources':
    'Connections, messages, read receipts, the account and one webhook are exposed by 14 endpoints.',
  'service.provider.kinds': '`provider` is `qr` or `cloud_api`.',
  'service.provider.same-shapes':
    'Both kinds of connection share the same paths, request shapes and response shapes.',
  'service.qr.pairs': 'A `qr` number is paired by scanning a QR code or by typing a pairing code.',
  'service.qr.humanized': 'A `qr` send simulates typing and takes 1 to 7 s.',
  'service.qr.self-heal': 'A `qr` send takes up to about 2.5 minutes while the session heals itself.',
  'service.qr.warmup': 'A new `qr` number has hourly caps for its first 72 hours.',
  'service.qr.events': 'Webhooks are sent for `qr` connections.',
  'service.cloud-api.no-pairing':
    'A `cloud_api` number is onboarded outside this API; it never scans or pairs.',
  'service.cloud-api.latency': 'A `cloud_api` send takes about 1 s.',
  'service.cloud-api.no-warmup': 'A `cloud_api` number has no warm-up caps.',
  'service.cloud-api.silent': 'A `cloud_api` connection sends no webhooks.',
  'service.cloud-api.polled':
    'Clients follow a `cloud_api` connection by polling `GET /messages` and `GET /connections/{id}`.',
  'service.standalone.bundled':
    'In a standalone workspace a license includes API access; there is no add-on.',
  'service.standalone.trial':
    'In a standalone workspace every new connection starts with a 7-day trial with full API access.',
  'service.standalone.paid-after': 'After its trial, a standalone connection needs a paid license.',
  'service.portal.made-inside':
    'The portal admin creates the connections of a portal; `POST /connections` returns 403 `forbidden_portal_kind`.',
  'service.portal.addon': 'Each portal connection needs its own active add-on to be used through the API.',
  'service.gate.visible': 'Only connections with an active license or add-on are listed.',
  'service.gate.expired-hidden': 'An expired add-on hides its connection from `GET /connections`.',
  'service.gate.unsendable': 'A send through an unlicensed connection is rejected with 402.',
  'service.slot.capacity': 'A slot is capacity; it is not tied to a phone number.',
  'service.slot.attaches': 'A slot is claimed when a number pairs, not when the connection is created.',
  'service.slot.returns': 'Deleting a connection returns its slot to the pool with its remaining time.',
  'service.id.customer-map': 'A client maps the connection `id` to its own customer record.',
  'service.tools.offered': 'A remote tool server offers three tools and authenticates with OAuth.',
  'service.cloud-api.signup': notModeled(
    'A `cloud_api` number is onboarded through embedded signup.',
    'The sandbox creates these connections, already paired.',
  ),
  'service.network': notModeled(
    'The phone network: other phones, typing, delivery, read receipts and outages.',
    'The network is simulated behind one port; the sandbox controls people, phones and outages.',
  ),
  'service.prices': notModeled(
    'Prices and plans.',
    'The specification does not give them, and nothing is charged here.',
  ),
});
