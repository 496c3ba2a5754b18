import type { ConnectorAccount } from '../../../src/contract/connector/accounts.ts';
import type { DeadLetter } from '../../../src/contract/connector/changes.ts';
import type { ConnectorConnection } from '../../../src/contract/connector/connections.ts';
import type { Consumer } from '../../../src/contract/connector/consumers.ts';
import type { ConnectorMessage } from '../../../src/contract/connector/messages.ts';
import type { Outbound } from '../../../src/contract/connector/outbound.ts';
import type { StatisticsPoint } from '../../../src/contract/connector/statistics.ts';
import type { AccountSync } from '../../../src/contract/connector/sync.ts';
import type { ApiCall } from '../../../src/contract/sandbox/calls.ts';
import type { ListedConnection, ShownConnection } from '../../../src/contract/sandbox/connections.ts';
import type { Delivery } from '../../../src/contract/sandbox/deliveries.ts';
import type { StoredMessage } from '../../../src/contract/sandbox/messages.ts';

/** Noon of the day of all examples, and a number of seconds after it. */
export const at = (seconds = 0): string => new Date(Date.UTC(2026, 0, 15, 12, 0, seconds)).toISOString();

export const DESK: ListedConnection = {
  id: 'c1',
  workspaceId: 'w1',
  phoneNumber: '447700900101',
  label: 'Front desk',
  provider: 'qr',
  status: 'connected',
  licenseStatus: 'active',
  licenseExpires: null,
  needsReconnect: false,
  outage: null,
};

export const SHOWN_DESK: ShownConnection = {
  ...DESK,
  license: { status: 'active', expiresAt: null },
  hasSlot: true,
  warmup: null,
  phone: { on: true, blocked: [] },
  transitions: [],
};

export const DELIVERY: Delivery = {
  id: 'd1',
  event: 'message.received',
  workspaceId: 'w1',
  connectionId: 'c1',
  messageId: 'm1',
  subscription: { kind: 'workspace', id: 'w1' },
  url: 'https://connector.example.com/webhooks/messaging',
  outcome: 'delivered',
  createdAt: at(),
  headers: { 'X-Service-Timestamp': '1768478400000', 'X-Service-Signature': 'sha256=aa11' },
  body: '{"event":"message.received","message":{"id":"m1","from":"447700900201","text":"Hello"}}',
  attempts: [{ at: at(), ms: 20, status: 200 }],
};

export const CALL: ApiCall = {
  id: '1',
  at: at(),
  method: 'GET',
  path: '/account',
  credential: null,
  workspaceId: null,
  status: 401,
  code: 'invalid_key',
  ms: 3,
  trace: [
    { check: 'route', passed: true },
    { check: 'credential', passed: false, why: 'No key has this value.' },
  ],
  responseBody: '{"error":"invalid_key"}',
};

/** A message as the service stores it. */
export const STORED: StoredMessage = {
  id: 'm1',
  workspaceId: 'w1',
  connectionId: 'c1',
  direction: 'incoming',
  peer: '447700900201',
  text: 'Hello',
  mediaType: null,
  filename: null,
  status: 'delivered',
  errorMessage: null,
  waMessageId: 'wa1',
  createdAt: at(),
};

/** A message as the connector stores it. */
export const MESSAGE: ConnectorMessage = {
  id: 'm1',
  connectionId: 'c1',
  direction: 'incoming',
  peer: '447700900201',
  personKey: '447700900201',
  text: 'Hello',
  mediaUrl: null,
  mediaType: null,
  mediaCopy: null,
  status: null,
  errorMessage: null,
  createdAt: at(),
  firstSeenBy: 'webhook',
  historic: false,
  origin: null,
  reference: null,
  customerRef: null,
};

export const KNOWN_DESK: ConnectorConnection = {
  id: 'c1',
  accountId: 'default',
  phoneNumber: '447700900101',
  label: 'Front desk',
  provider: 'qr',
  tier: 'pro',
  status: 'connected',
  health: 'working',
  needsReconnect: false,
  reason: null,
  isDefault: true,
  profilePicUrl: null,
  licenseValid: true,
  licenseStatus: 'active',
  licenseExpires: null,
  visible: true,
  lastContactAt: at(),
  customerRef: null,
  deletedAt: null,
  updatedAt: at(),
};

export const SEND: Outbound = {
  id: 'o1',
  accountId: 'default',
  connectionId: 'c1',
  to: '447700900201',
  text: 'Good morning',
  media: null,
  reference: 'order-1',
  state: 'queued',
  messageId: null,
  attempts: 1,
  lastError: null,
  nextAttemptAt: null,
  createdAt: at(60),
  updatedAt: at(60),
};

export const ACCOUNT_SYNC: AccountSync = {
  accountId: 'default',
  reauthRequired: false,
  coveredUntil: at(),
  openGaps: 0,
  oldestOpenStatus: null,
  unresolvedStatuses: 0,
  lastPoll: { startedAt: at(), ok: true, error: null, notBefore: null },
  pollOverdue: false,
  lastGoodPollAt: at(),
  repaired: { messages: 2, statuses: 1 },
  undecidedRepairs: 0,
  statusConflicts: 0,
  webhookHealth: 'healthy',
  lastWebhookAt: at(),
  connections: [],
};

/** What was counted in one slot. */
export const POINT: StatisticsPoint = {
  at: at(),
  webhooks: { received: 5, unchanged: 1, refused: { wrong_signature: 2, stale_timestamp: 1 } },
  polls: { good: 2, failed: 1, repaired: 3 },
  sends: { sent: 4, failed: 1, waiting: 2 },
  changes: 6,
  consumers: {
    taken: 4,
    failed: 1,
    latencySeconds: 0.25,
    waiting: 7,
    lagSeconds: 90,
    parked: 1,
    deadLetters: 2,
  },
};

export const ACCOUNT: ConnectorAccount = {
  id: 'default',
  kind: 'api_key',
  label: 'Acme',
  reference: null,
  baseUrl: 'https://service.example.com/api/v1',
  state: 'active',
  reauth: null,
  subscriptionId: 's1',
  webhookPath: '/webhooks/messaging',
  webhookUrl: 'https://connector.example.com/webhooks/messaging',
  webhookRegisteredAt: at(),
  secretInDoubt: false,
  quota: null,
  endingLicenses: [],
  createdAt: at(),
};

export const CONSUMER: Consumer = {
  name: 'handler',
  kind: 'handler',
  state: 'running',
  disabledReason: null,
  unavailable: null,
  lag: { changes: 0, seconds: 0 },
  parked: { count: 0, first: [] },
  deadLetters: 0,
  createdAt: at(),
  filter: {},
  batch: 1,
  concurrency: 8,
  placeChanges: 100,
  placeMs: 1_000,
};

const { customerRef: _, ...data } = MESSAGE;
export const letter = (id: string, seq: number, messageId = 'm1'): DeadLetter => ({
  id,
  consumer: 'handler',
  change: {
    seq,
    at: at(),
    accountId: 'default',
    connectionId: 'c1',
    type: 'message.created',
    messageId,
    data: { ...data, id: messageId },
  },
  attempts: 1,
  lastError: `RangeError: no room for ${id}`,
  at: at(),
});

/** A connection without a number, as the service answers it to who pairs it. */
export const unpaired = (qr = 'data:image/png;base64,AAAA') => ({
  connection: {
    id: 'c1',
    status: 'connecting',
    phoneNumber: null,
    phone: null,
    label: 'Front desk',
    provider: 'qr',
    licenseStatus: 'none',
    license_status: 'none',
    licenseExpires: null,
    license_expires: null,
    qr,
  },
});

/** A page of a list of the connector. */
export const pageOf = (name: string, entries: readonly unknown[], nextCursor: string | null = null) => ({
  [name]: entries,
  nextCursor,
  hasMore: nextCursor !== null,
});

/** What a sandbox in which nothing has happened answers, with its connector. */
export const EMPTY = {
  'GET /healthz': {},
  'GET /connector/readyz': {},
  'GET /sandbox/v1/faults': { seed: 1, rules: [] },
  'GET /sandbox/v1/clock': { now: '2026-01-15T12:00:00.000Z', frozen: false },
  'GET /sandbox/v1/info': {
    baseUrl: 'http://127.0.0.1:4010/api/v1',
    legacyBaseUrl: 'http://127.0.0.1:4011/api/v1',
    authUrl: 'http://127.0.0.1:4010',
    mcpUrl: 'http://127.0.0.1:4010/api/mcp',
    sandboxUrl: 'http://127.0.0.1:4000',
    connectorUrl: 'http://127.0.0.1:4020',
    connectorToken: 'token-of-connector',
    workspaceId: 'w1',
    apiKey: 'msk_secret',
    selfCheckWorkspaceId: 'wcheck',
    webhookUrl: 'http://127.0.0.1:4020/webhooks/messaging',
    now: '2026-01-15T12:00:00.000Z',
  },
  'GET /sandbox/v1/deliveries/counts': { pending: 0, held: 0, delivered: 0, dropped: 0 },
  'GET /sandbox/v1/webhooks': { entries: [] },
  'GET /sandbox/v1/snapshots': { entries: [] },
  'GET /sandbox/v1/connections': { entries: [] },
  'GET /sandbox/v1/deliveries': { entries: [] },
  'GET /sandbox/v1/calls': { entries: [] },
  'GET /sandbox/v1/messages': { entries: [] },
  'GET /sandbox/v1/contacts': { entries: [] },
  'GET /sandbox/v1/workspaces': { entries: [] },
  'GET /sandbox/v1/oauth-apps': { entries: [] },
  'GET /sandbox/v1/grants': { entries: [] },
  'GET /connector/v1/sync': {
    accounts: [],
    sends: { waiting: 0, oldestAt: null },
    dispatch: null,
  },
  'GET /connector/v1/statistics': { at: at(), stepSeconds: 60, from: at(-59 * 60), points: [] },
  'GET /connector/v1/doctor': { at: at(), findings: [] },
  'GET /connector/v1/deliveries': { deliveries: [] },
  'GET /connector/v1/changes': { changes: [], nextCursor: '0', hasMore: false, feedId: 'f1', lastSeq: 0 },
  'GET /connector/v1/accounts': { accounts: [], nextCursor: null, hasMore: false },
  'GET /connector/v1/dead-letters': { deadLetters: [], nextCursor: null, hasMore: false },
  'GET /connector/v1/consumers': { consumers: [], nextCursor: null, hasMore: false },
  'GET /connector/v1/connections': { connections: [], nextCursor: null, hasMore: false },
  'GET /connector/v1/messages': { messages: [], nextCursor: null, hasMore: false },
  'GET /connector/v1/outbound': { outbound: [], nextCursor: null, hasMore: false },
};
