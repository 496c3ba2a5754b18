import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { judgeFigures } from '../../../src/connector/doctor/figure-check.ts';
import type { Facts } from '../../../src/connector/state/facts.ts';
import { type FigureCheck, HEALTH } from '../../../src/connector/state/health.ts';
import { measureState } from '../../../src/connector/state/measure-state.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { readProjectFile } from '../../support/markdown.ts';

const NOW = Date.UTC(2026, 0, 15, 12);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What the doctor is given by its settings; none of them matters here. */
const SETTINGS = {
  host: '127.0.0.1',
  port: 0,
  sealingKeys: [],
  reconcileIntervalMs: 1,
  inboxRetentionDays: 1,
};

const CONSUMER = {
  name: 'crm',
  kind: 'http',
  state: 'running',
  waiting: 0,
  oldestAt: null,
  parked: 0,
  deadLetters: 0,
};
const CONNECTIONS = { accountId: 'a1', health: 'working', notice: null, count: 3 };
const NUMBER = {
  ...CONNECTIONS,
  ...{ visible: true, licenseValid: true, needsReconnect: false },
  connectionId: 'c1',
  label: 'Desk',
  licenseStatus: 'active',
  reason: null,
  since: NOW - 2 * HOUR,
};
const QUOTA = {
  ...{ accountId: 'a1', slotsTotal: 5, slotsUsed: 4, slotsAvailable: 1 },
  ...{ connectionsNeedReconnect: 2, nextExpiry: NOW + DAY },
};

/** What a connector without a problem is read as. */
const WELL = {
  sessions: { allowed: 97, used: 20, ours: 12, idleInTransaction: 0 },
  snapshot: null,
  workers: { last: NOW - 1_000 },
  polls: { waiting: 0, oldestAt: null },
  feed: { waiting: 0, oldestAt: null, lastSeq: 7 },
  sends: { waiting: 0, oldestAt: null },
  lateSends: { waiting: 0, oldestAt: null },
  queues: [],
  failedSends: { unknown: 0, rejected: 0, code: null },
  consumers: [CONSUMER],
  letters: [],
  files: { waiting: 0, oldestAt: null },
  creations: 0,
  grants: { active: 0, ended: 0 },
  connections: [CONNECTIONS],
  quotas: [QUOTA],
  quota: QUOTA,
  numbers: [NUMBER],
  abandoned: [],
  tallies: new Map(),
  unreadDays: [],
};

type Changed = Partial<Record<keyof typeof WELL, unknown>>;

function facts(changed: Changed = {}): Facts {
  const read = Object.entries({ ...WELL, ...changed }).map(([name, value]) => [name, async () => value]);
  return { ...Object.fromEntries(read), now: () => NOW } as Facts;
}

/** The check, what is read, the verdict and code, and what is said with the figure. */
type Vector = readonly [check: FigureCheck, read: Changed, finding: string, ...says: string[]];

const sessions = (allowed: number, idleInTransaction = 0) => ({
  sessions: { allowed, used: 20, ours: 12, idleInTransaction },
});
const since = (seconds: number, waiting = 1) => ({ waiting, oldestAt: NOW - seconds * 1_000 });
const feed = (seconds: number) => ({ feed: { ...since(seconds, 2), lastSeq: 7 } });
const crm = (changed: object) => ({
  consumers: [
    { ...CONSUMER, ...changed },
    { ...CONSUMER, name: 'idle' },
  ],
});
const failed = (unknown: number, rejected: number) => ({
  failedSends: { unknown, rejected, code: 'invalid_recipient' },
});
const queue = (connectionId: string, lastError: string | null, inMs: number) => ({
  connectionId,
  lastError,
  nextAttemptAt: NOW + inMs,
});
const numbers = (...changed: object[]) => ({ numbers: changed.map((each) => ({ ...NUMBER, ...each })) });
const tally = (kind: string) => ({ tallies: new Map([[kind, { count: 2, lastAt: NOW - 2 * HOUR }]]) });

const VECTORS: readonly Vector[] = [
  ['connections', sessions(35), 'ok'],
  ['connections', sessions(34), 'problem database_full', '20 of 34 connections are in use, 12 of them'],
  ['connections', sessions(97, 1), 'warning idle_transactions', '1 transaction has been idle'],
  ['processes', { workers: { last: NOW - 60_000 } }, 'ok'],
  ['processes', { workers: { last: NOW - 61_000 } }, 'problem no_worker', 'Last heartbeat: 61 s ago.'],
  ['processes', { workers: { last: null } }, 'problem no_worker', 'Last heartbeat: never.'],
  ['feed', feed(10), 'ok'],
  ['feed', feed(11), 'warning feed_late', '2 batches wait for numbers, the oldest for 11 s'],
  ['feed', feed(30), 'warning feed_late'],
  ['feed', feed(31), 'problem feed_late', 'the oldest for 31 s; the last number is 7.'],
  ['sends', { lateSends: since(60) }, 'ok'],
  ['sends', { lateSends: since(61) }, 'warning sends_late', 'the latest for 61 s', '1 send is due'],
  ['sends', { lateSends: since(300), sends: since(7_200, 3) }, 'warning sends_late', '3 sends wait in total'],
  ['sends', { lateSends: since(301), sends: since(7_200) }, 'problem sends_late', 'for 5 min.', 'for 2 h.'],
  [
    'sends',
    {
      lateSends: since(61, 2),
      queues: [queue('c1', null, -1), queue('c2', 'send_failed', 0), queue('c3', null, 1)],
    },
    'warning sends_late',
    '2 sends are due: c1 (not tried yet), c2 (send_failed).',
  ],
  [
    'sends',
    { queues: [queue('c1', 'warmup_limited', 3 * HOUR), queue('c2', null, HOUR)] },
    'warning sends_delayed',
    '1 queue waits to retry',
    'c1: warmup_limited, next attempt in 3 h.',
  ],
  ['sends', failed(2, 0), 'warning sends_unknown', '2 sends of the last 24 h'],
  [
    'sends',
    failed(0, 1),
    'warning sends_rejected',
    '1 send of',
    'The most frequent reason is invalid_recipient.',
  ],
  ['handler', { consumers: [] }, 'not_checked', 'the CRM reads the feed'],
  ['handler', crm(since(300)), 'ok'],
  ['handler', crm(since(301, 4)), 'problem consumer_late', '4 changes wait for crm, the oldest for 5 min.'],
  [
    'handler',
    crm({ ...since(301), state: 'paused' }),
    'problem consumer_late',
    '1 change waits for crm, which is paused,',
    'changes that it has not taken are never deleted: resume it, or delete it',
  ],
  [
    'handler',
    {
      ...crm({ deadLetters: 2 }),
      letters: [{ lastError: 'TypeError: no such customer', at: '2026-01-15T11:57:00Z' }],
    },
    'warning dead_letters',
    '2 changes were set aside: the consumer failed on them too often.',
    'The last one 3 min ago. Errors: TypeError: no such customer.',
  ],
  ['files', { files: { waiting: 1, oldestAt: NOW - HOUR } }, 'ok'],
  [
    'files',
    { files: { waiting: 3, oldestAt: NOW - HOUR - 1_000 } },
    'warning files_wait',
    '3 files wait, the oldest for 60 min.',
  ],
  ['numbers', { numbers: [] }, 'not_checked', 'no connection yet'],
  ['numbers', {}, 'ok', 'no license ends within 3 days'],
  [
    'numbers',
    numbers({}, { licenseValid: false, label: null }),
    'problem license_ended',
    'c1, license active.',
  ],
  [
    'numbers',
    {
      ...numbers({ visible: false, needsReconnect: true }),
      quota: { ...QUOTA, slotsUsed: 5, slotsAvailable: 0 },
    },
    'problem license_ended',
    '1 connection is without a valid license',
    'No slot is free: 5 of 5 are used.',
  ],
  [
    'numbers',
    numbers({ notice: 'ends_soon', licenseExpires: NOW + DAY }),
    'warning license_ends',
    'c1 (Desk) in 24 h.',
  ],
  [
    'numbers',
    numbers({ notice: 'end_passed', licenseExpires: NOW - DAY }),
    'warning license_ends',
    'c1 (Desk) now.',
  ],
  [
    'numbers',
    numbers({ needsReconnect: true, reason: 'logged out on the phone' }),
    'warning must_pair',
    'c1 (Desk), reported 2 h ago: logged out on the phone.',
  ],
  [
    'numbers',
    { abandoned: [{ label: 'Third desk', createdAt: NOW - 2 * HOUR, lastError: null }] },
    'warning creation_in_doubt',
    'Third desk, requested 2 h ago (no answer).',
  ],
  ['reading', {}, 'ok'],
  [
    'reading',
    tally('invalid'),
    'warning deliveries_invalid',
    '2 deliveries of the last 24 h had no readable id',
    '2 h ago',
  ],
  [
    'reading',
    tally('unread'),
    'warning deliveries_unread',
    '2 deliveries of the last 24 h had fields',
    '2 h ago',
  ],
  [
    'reading',
    { unreadDays: [{ slot: 'list:2026-01-14' }] },
    'warning records_unreadable',
    'pages end: 2026-01-14.',
  ],
];
const CASES = VECTORS.map(([check, read, finding, ...parts]) => ({ check, read, finding, parts }));

it.each(CASES)('the check $check of $read finds $finding', async ({ check, read, finding, parts }) => {
  const findings = [await judgeFigures(check, facts(read), SETTINGS)].flat();
  expect(findings.map(({ verdict, code }) => [verdict, code].join(' ').trim())).toEqual([finding]);
  const said = findings.flatMap(({ says, evidence, advice }) => [says, ...evidence, ...advice]).join('\n');
  for (const part of parts) expect(said).toContain(part);
  expect(findings[0]?.advice.length === 0).toBe(finding.includes(' ') === false);
});

it('has a vector for each finding', () => {
  const codes = HEALTH.flatMap(({ code }) => code ?? []);
  expect(codes.filter((code) => !VECTORS.some(([, , finding]) => finding.endsWith(` ${code}`)))).toEqual([]);
});

it('is measured in seconds and counts, for each account and consumer', async () => {
  const metrics = createMetrics();
  let isReadable = true;
  const handler = { ...CONSUMER, name: 'handler', waiting: 3, parked: 2, deadLetters: 1 };
  const consumers = [CONSUMER, { ...handler, oldestAt: NOW - 7_000 }];
  const read = facts({
    snapshot: { since: NOW - 90_000 },
    polls: { waiting: 1, oldestAt: NOW - 45_000 },
    feed: { waiting: 1, oldestAt: NOW - 1_500, lastSeq: 7 },
    sends: { waiting: 12, oldestAt: NOW - 2 * HOUR },
    lateSends: { waiting: 1, oldestAt: NOW - 61_000 },
    consumers,
    files: { waiting: 2, oldestAt: NOW - 90_000 },
    creations: 4,
    grants: { active: 6, ended: 2 },
    connections: [
      CONNECTIONS,
      { ...CONNECTIONS, notice: 'ends_soon', count: 2 },
      { ...CONNECTIONS, health: 'hidden', count: 1 },
      { ...CONNECTIONS, accountId: 'a2', notice: 'end_passed', health: 'needs_reconnect', count: 8 },
    ],
    quotas: [
      QUOTA,
      { ...QUOTA, accountId: 'a2', slotsTotal: 0, slotsUsed: 0, slotsAvailable: 0, nextExpiry: null },
    ],
  });
  measureState(
    metrics,
    new Proxy(read, { get: (target, name) => (isReadable ? Reflect.get(target, name) : undefined) }),
  );
  const samples = async () =>
    (await metrics.render()).text
      .split('\n')
      .filter((line) => /^connector_.* [^0]|^connector_[a-z_]+ 0/.test(line));
  const expected = [
    'connector_oldest_snapshot_seconds 90',
    'connector_polls_oldest_due_seconds 45',
    'connector_feed_lag_seconds 1.5',
    'connector_feed_last_seq 7',
    'connector_sends_waiting 12',
    'connector_sends_oldest_waiting_seconds 7200',
    'connector_sends_oldest_due_seconds 61',
    'connector_consumer_waiting{consumer="handler"} 3',
    'connector_consumer_oldest_waiting_seconds{consumer="handler"} 7',
    'connector_consumer_parked{consumer="handler"} 2',
    'connector_consumer_dead_letters{consumer="handler"} 1',
    'connector_media_oldest_waiting_seconds 90',
    'connector_creations_in_doubt 4',
    'connector_oauth_grants{state="active"} 6',
    'connector_oauth_grants{state="reauth_required"} 2',
    'connector_connections{account="a1",health="working"} 5',
    'connector_connections{account="a1",health="hidden"} 1',
    'connector_connections{account="a2",health="needs_reconnect"} 8',
    'connector_licenses_ending{account="a1",notice="ends_soon"} 2',
    'connector_licenses_ending{account="a2",notice="end_passed"} 8',
    'connector_slots{account="a1",state="total"} 5',
    'connector_slots{account="a1",state="used"} 4',
    'connector_slots{account="a1",state="available"} 1',
    // 2026-01-16T12:00:00Z.
    'connector_slots_next_expiry_timestamp_seconds{account="a1"} 1768564800',
    'connector_connections_need_reconnect{account="a1"} 2',
    'connector_connections_need_reconnect{account="a2"} 2',
  ];
  expect((await samples()).sort()).toEqual([...expected].sort());
  expect((await metrics.render()).text).toContain('connector_slots{account="a2",state="available"} 0\n');
  expect((await metrics.render()).text).toContain('connector_consumer_waiting{consumer="crm"} 0\n');
  // Without a database, the last values remain.
  isReadable = false;
  expect((await samples()).sort()).toEqual([...expected].sort());
  isReadable = true;
  consumers.pop();
  expect((await samples()).filter((line) => line.includes('consumer='))).toEqual([]);
});

it('is counted by account in time that grows with the accounts, not with their square', async () => {
  let reads = 0;
  const rows = Array.from({ length: 1_000 }, (_, index) => ({
    ...CONNECTIONS,
    get accountId() {
      reads += 1;
      return `a${index}`;
    },
  }));
  const { read } = HEALTH.find(({ metric }) => metric === 'connector_connections') ?? {};
  expect(await read?.({ connections: async () => rows } as unknown as Facts)).toContainEqual([
    { account: 'a999', health: 'working' },
    3,
  ]);
  expect(reads).toBeLessThanOrEqual(rows.length);
});

it('has the limits of the alert rules', () => {
  const { groups } = parse(readProjectFile('docs/prometheus-alerts.yml')) as {
    groups: readonly { rules: readonly { expr: string; labels: { severity: string } }[] }[];
  };
  const rules = groups.flatMap((group) =>
    group.rules.map(({ expr, labels }) => `${labels.severity}: ${expr}`),
  );
  const limits = HEALTH.flatMap(({ metric, warning, warningAbove = 0, problem, problemAbove = 0 }) => [
    ...(warning === undefined
      ? []
      : [`warning: max(${metric}{job="messaging-connector"}) > ${warningAbove}`]),
    ...(problem === undefined
      ? []
      : [`critical: max(${metric}{job="messaging-connector"}) > ${problemAbove}`]),
  ]);
  expect(limits.filter((limit) => rules.includes(limit))).toEqual([
    'critical: max(connector_feed_lag_seconds{job="messaging-connector"}) > 30',
    'warning: max(connector_sends_oldest_due_seconds{job="messaging-connector"}) > 60',
    'critical: max(connector_consumer_oldest_waiting_seconds{job="messaging-connector"}) > 300',
    'warning: max(connector_consumer_dead_letters{job="messaging-connector"}) > 0',
    'warning: max(connector_media_oldest_waiting_seconds{job="messaging-connector"}) > 3600',
  ]);
});
