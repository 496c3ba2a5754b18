import { CONNECTION_HEALTH } from '../../contract/connector/connections.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Gauge, Metrics } from '../../runtime/metrics/metrics.ts';
import { type Quota, readQuotas } from '../accounts/quota.ts';
import { judgeHealth } from '../connections/judge-health.ts';
import { readLateSends, readWaitingSends } from '../outbox/due-queues.ts';
import type { Outbox } from '../outbox/outbox.ts';
import {
  type ConsumerFigures,
  countConnections,
  countDoubtfulCreations,
  countGrants,
  oldestWaitMs,
  readConsumerFigures,
  readDuePolls,
  readFeed,
} from './figures.ts';
import { readOldestSnapshot } from './snapshots.ts';

const NOTICES = ['ends_soon', 'end_passed'] as const;

/**
 * Registers the figures of all processes as metrics. They are read from the database when metrics are
 * requested, so every process shows the same values; without a database they keep their last values.
 */
export function measureState(
  metrics: Metrics,
  db: Queryable,
  clock: Clock,
  outbox?: Pick<Outbox, 'readKnown'>,
): void {
  const known = async () => (await outbox?.readKnown()) ?? null;
  const readOr = <Figures>(read: () => Promise<Figures>) => shareReads(() => read().catch(() => undefined));

  function gauge<Figures>(
    name: string,
    help: string,
    read: () => Promise<Figures | undefined>,
    figure: (figures: Figures) => number,
  ): void {
    metrics.gauge(name, help, [], async (shown) => {
      const figures = await read();
      if (figures !== undefined) shown.set(figure(figures));
    });
  }

  const sends = readOr(async () => readWaitingSends(db, await known()));
  gauge(
    'connector_sends_waiting',
    'Sends that are queued or in flight; 10000 means 10000 or more.',
    sends,
    ({ waiting }) => waiting,
  );
  gauge(
    'connector_sends_oldest_waiting_seconds',
    'Age of the oldest send that is queued or in flight; 0 if there is none.',
    sends,
    (waiting) => oldestWaitMs(waiting, clock.now()) / 1_000,
  );
  gauge(
    'connector_sends_oldest_due_seconds',
    'How late the latest send is that is due, next in its queue, and has not begun; 0 if none is.',
    readOr(async () => readLateSends(db, await known(), clock.now())),
    (waiting) => oldestWaitMs(waiting, clock.now()) / 1_000,
  );
  gauge(
    'connector_polls_oldest_due_seconds',
    'How late the latest poll is that is due and that no failure delays; 0 if none is.',
    readOr(() => readDuePolls(db, clock.now())),
    (waiting) => oldestWaitMs(waiting, clock.now()) / 1_000,
  );
  gauge(
    'connector_feed_lag_seconds',
    'Age of the oldest committed change without a number; 0 if there is none.',
    readOr(() => readFeed(db)),
    (waiting) => oldestWaitMs(waiting, clock.now()) / 1_000,
  );
  gauge(
    'connector_oldest_snapshot_seconds',
    'Age of the oldest transaction that keeps dead rows in the database; 0 if there is none.',
    readOr(() => readOldestSnapshot(db)),
    (oldest) => (oldest === null ? 0 : oldestWaitMs({ oldestAt: oldest.since }, clock.now()) / 1_000),
  );
  measureConsumers(
    metrics,
    readOr(() => readConsumerFigures(db)),
    clock,
  );
  gauge(
    'connector_creations_in_doubt',
    'Requests to create a connection whose answer was lost and whose outcome is unknown.',
    readOr(() => countDoubtfulCreations(db)),
    (count) => count,
  );
  const grants = readOr(() => countGrants(db));
  metrics.gauge('connector_oauth_grants', 'OAuth grants, by state.', ['state'], async (shown) => {
    const figures = await grants();
    if (figures === undefined) return;
    shown.set({ state: 'active' }, figures.active);
    shown.set({ state: 'reauth_required' }, figures.ended);
  });
  measureConnections(
    metrics,
    readOr(() => countConnections(db, clock.now())),
  );
  measureQuotas(
    metrics,
    readOr(() => readQuotas(db)),
  );
}

function measureConsumers(
  metrics: Metrics,
  read: () => Promise<readonly ConsumerFigures[] | undefined>,
  clock: Clock,
): void {
  function gauge(name: string, help: string, figure: (figures: ConsumerFigures) => number): void {
    metrics.gauge(name, help, ['consumer'], async (shown) => {
      const figures = await read();
      if (figures === undefined) return;
      shown.reset();
      for (const each of figures) shown.set({ consumer: each.name }, figure(each));
    });
  }

  gauge('connector_consumer_waiting', 'Changes that wait for the consumer.', ({ waiting }) => waiting);
  gauge(
    'connector_consumer_oldest_waiting_seconds',
    'Age of the oldest change that waits for the consumer; 0 if there is none.',
    (figures) => oldestWaitMs(figures, clock.now()) / 1_000,
  );
  gauge(
    'connector_consumer_parked',
    'Connections that wait because a call of the consumer failed, or are far behind.',
    ({ parked }) => parked,
  );
  gauge(
    'connector_consumer_dead_letters',
    'Changes that the consumer could not process and that wait for an operator.',
    ({ deadLetters }) => deadLetters,
  );
}

/** The number of series grows with accounts, not with connections. */
function measureConnections(
  metrics: Metrics,
  read: () => Promise<Awaited<ReturnType<typeof countConnections>> | undefined>,
): void {
  metrics.gauge(
    'connector_connections',
    'Connections of the account, by health.',
    ['account', 'health'],
    async (connections) => {
      const rows = await read();
      if (rows === undefined) return;
      connections.reset();
      for (const { accountId: account } of rows) {
        for (const health of CONNECTION_HEALTH) connections.set({ account, health }, 0);
      }
      for (const { accountId: account, notice, count, ...facts } of rows) {
        connections.inc({ account, health: judgeHealth(facts) }, count);
      }
    },
  );
  metrics.gauge(
    'connector_licenses_ending',
    'Licenses that end within three days, or whose end has passed while the service was not reached.',
    ['account', 'notice'],
    async (ends) => {
      const rows = await read();
      if (rows === undefined) return;
      ends.reset();
      for (const { accountId: account } of rows) {
        for (const notice of NOTICES) ends.set({ account, notice }, 0);
      }
      for (const { accountId: account, notice, count } of rows) {
        if (notice !== null) ends.inc({ account, notice }, count);
      }
    },
  );
}

/** The figures of `GET /account`. */
function measureQuotas(metrics: Metrics, read: () => Promise<readonly Quota[] | undefined>): void {
  function gauge<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    show: (shown: Gauge<Label | 'account'>, quota: Quota) => void,
  ): void {
    metrics.gauge<Label | 'account'>(name, help, ['account', ...labels], async (shown) => {
      const quotas = await read();
      if (quotas === undefined) return;
      shown.reset();
      for (const quota of quotas) show(shown, quota);
    });
  }

  gauge('connector_slots', 'Slots of the account, by state.', ['state'], (slots, quota) => {
    const { accountId: account } = quota;
    slots.set({ account, state: 'total' }, quota.slotsTotal);
    slots.set({ account, state: 'used' }, quota.slotsUsed);
    slots.set({ account, state: 'available' }, quota.slotsAvailable);
  });
  gauge(
    'connector_slots_next_expiry_timestamp_seconds',
    'The earliest license end of the account.',
    [],
    (expiry, { accountId: account, nextExpiry }) => {
      if (nextExpiry !== null) expiry.set({ account }, nextExpiry / 1_000);
    },
  );
  gauge(
    'connector_connections_need_reconnect',
    'Connections that wait for a scan, as counted by the service.',
    [],
    (waiting, { accountId: account, connectionsNeedReconnect }) => {
      waiting.set({ account }, connectionsNeedReconnect);
    },
  );
}
