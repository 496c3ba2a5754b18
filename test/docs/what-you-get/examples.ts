import type { Change } from '../../../src/contract/connector/changes.ts';
import type { WebhookEvent } from '../../../src/contract/service/events.ts';

const CONNECTION = 'ci8vz6vu35m0nk87pmn9wdmbs';
const INCOMING = 'czoz9wyvq9jqw797uria3m19i';
const POLLED = 'cq3v8k1xw0d5m2n7r4t6y9b1e';
const OUTGOING = 'cbrx0df4rd6jc3cdbh3epyghk';

const connection = {
  id: CONNECTION,
  phone_number: '447700900101',
  label: 'Front desk',
  status: 'disconnected',
  needs_reconnect: true,
  license_status: 'active',
  license_expires: '2027-03-31T00:00:00.000Z',
  reason: 'AUTH_LOST',
};

/** One event of each type, with every field. */
export const EVENTS: { readonly [Type in WebhookEvent['event']]: Extract<WebhookEvent, { event: Type }> } = {
  'message.received': {
    event: 'message.received',
    connection_id: CONNECTION,
    message: {
      id: INCOMING,
      wa_id: '3EB01FE81681AA787465',
      from: '447700900201',
      text: 'Is my order on its way?',
      media_url: null,
      media_type: null,
      timestamp: 1795748373898,
    },
  },
  'message.status': {
    event: 'message.status',
    connection_id: CONNECTION,
    message: {
      id: OUTGOING,
      wa_id: '3EB06717375CFD883ED3',
      status: 'delivered',
      timestamp: 1795748435334,
    },
  },
  'connection.disconnected': {
    event: 'connection.disconnected',
    connection_id: CONNECTION,
    connection,
    timestamp: 1795748482752,
  },
  'connection.connected': {
    event: 'connection.connected',
    connection_id: CONNECTION,
    connection: { ...connection, status: 'connected', needs_reconnect: false, reason: null },
    timestamp: 1795748677384,
  },
};

const incoming = {
  id: INCOMING,
  connectionId: CONNECTION,
  direction: 'incoming',
  peer: '447700900201',
  personKey: '447700900201',
  text: 'Is my order on its way?',
  mediaUrl: null,
  mediaType: null,
  mediaCopy: null,
  status: null,
  errorMessage: null,
  createdAt: '2026-11-27T02:59:33.898Z',
  firstSeenBy: 'webhook',
  historic: false,
  origin: null,
  reference: null,
} as const;

const common = <Type extends Change['type']>(type: Type, seq: number, at: string) => ({
  ...{ seq, at, accountId: 'default', connectionId: CONNECTION, type },
});

/** One change of each type, with every field. */
export const CHANGES: { readonly [Type in Change['type']]: Extract<Change, { type: Type }> } = {
  'message.created': {
    ...common('message.created', 5, '2026-11-27T02:59:33.927Z'),
    messageId: INCOMING,
    data: incoming,
  },
  'message.updated': {
    ...common('message.updated', 7, '2026-11-27T03:00:12.020Z'),
    messageId: POLLED,
    data: {
      ...incoming,
      id: POLLED,
      text: 'Hello?',
      createdAt: '2026-11-27T03:00:02.117Z',
      firstSeenBy: 'poll',
    },
  },
  'message.status': {
    ...common('message.status', 10, '2026-11-27T03:00:35.394Z'),
    messageId: OUTGOING,
    data: { status: 'delivered', previous: 'sent', historic: false },
  },
  'outbound.updated': {
    ...common('outbound.updated', 9, '2026-11-27T03:00:35.064Z'),
    messageId: OUTGOING,
    data: {
      id: 'ec44a9de-48e0-44f5-ab59-eb239e525098',
      accountId: 'default',
      connectionId: CONNECTION,
      to: '447700900201',
      text: 'It arrives today.',
      media: null,
      reference: 'order-4711',
      state: 'sent',
      messageId: OUTGOING,
      attempts: 1,
      lastError: null,
      nextAttemptAt: null,
      createdAt: '2026-11-27T03:00:34.909Z',
      updatedAt: '2026-11-27T03:00:35.064Z',
    },
  },
  'person.erased': {
    ...common('person.erased', 12, '2026-11-27T03:05:00.000Z'),
    data: { messageIds: [INCOMING, OUTGOING], outboundIds: ['ec44a9de-48e0-44f5-ab59-eb239e525098'] },
  },
  'connection.updated': {
    ...common('connection.updated', 11, '2026-11-27T03:01:22.607Z'),
    data: {
      id: CONNECTION,
      accountId: 'default',
      phoneNumber: '447700900101',
      label: 'Front desk',
      provider: 'qr',
      tier: 'basic',
      status: 'disconnected',
      needsReconnect: true,
      reason: 'AUTH_LOST',
      isDefault: true,
      profilePicUrl: 'https://service.example/pictures/ci8vz6vu35m0nk87pmn9wdmbs.jpg',
      licenseValid: true,
      licenseStatus: 'active',
      licenseExpires: '2027-03-31T00:00:00.000Z',
      visible: true,
      customerRef: 'customer-815',
      deletedAt: null,
      updatedAt: '2026-11-27T03:01:22.607Z',
      changed: ['status', 'needsReconnect', 'reason'],
    },
  },
};
