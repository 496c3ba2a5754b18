import { notModelled, section } from './requirement.ts';

/** Part 1: what the service does. */
export const SERVICE = section('What the service does', {
  'service.resources':
    'Connections, messages, receipts, the account and one webhook are reached by 14 calls.',
  'service.provider.kinds': '`provider` is `qr` or `cloud_api`.',
  'service.provider.same-shapes': 'Both kinds share paths, requests and answers.',
  'service.qr.pairs': 'A `qr` number pairs by a scanned picture or by a typed code.',
  'service.qr.humanized': 'A `qr` send takes 1 to 7 s, as a person types.',
  'service.qr.self-heal': 'A `qr` send through a session that heals itself takes up to about 2.5 minutes.',
  'service.qr.warmup': 'A new `qr` number has hourly caps for its first 72 hours.',
  'service.qr.events': 'Webhooks fire for `qr` connections.',
  'service.cloud-api.no-pairing':
    'A `cloud_api` number is registered elsewhere; it never scans and never pairs.',
  'service.cloud-api.latency': 'A `cloud_api` send takes about 1 s.',
  'service.cloud-api.no-warmup': 'A `cloud_api` number has no warm-up caps.',
  'service.cloud-api.silent': 'A `cloud_api` connection emits no webhook.',
  'service.cloud-api.polled':
    'What a `cloud_api` connection does shows in `GET /messages` and `GET /connections/{id}`.',
  'service.standalone.bundled':
    'In a standalone workspace a licence is all that a connection needs; there is no add-on.',
  'service.standalone.trial': 'In a standalone workspace a new connection begins with 7 days of full access.',
  'service.standalone.paid-after': 'After the trial a standalone connection needs a paid licence.',
  'service.portal.made-inside':
    'The admin of a portal makes its connections; `POST /connections` answers 403 `forbidden_portal_kind`.',
  'service.portal.addon': 'Each portal connection needs an active add-on of its own to be used here.',
  'service.gate.visible': 'Only connections with an active licence or add-on are listed.',
  'service.gate.expired-hidden': 'An expired add-on hides its connection from `GET /connections`.',
  'service.gate.unsendable': 'A send through an unlicensed connection is refused with 402.',
  'service.slot.capacity': 'A slot is capacity, bound to no phone number.',
  'service.slot.attaches': 'A slot is taken when a number pairs, not when the connection is created.',
  'service.slot.returns': 'Deleting a connection gives its slot back with the time that is left on it.',
  'service.id.customer-map': 'A client maps the connection `id` to its own customer record.',
  'service.tools.offered': 'A remote tool server offers three tools behind OAuth.',
  'service.cloud-api.signup': notModelled(
    'A business number joins through embedded signup.',
    'The sandbox makes such a connection, paired already.',
  ),
  'service.network': notModelled(
    'The phone network: other phones, their typing, delivery, receipts, outages.',
    'It is simulated behind one port; people, phones and outages are moved through the sandbox.',
  ),
  'service.prices': notModelled(
    'Prices and plans.',
    'The specification does not show them, and nobody pays here.',
  ),
});
