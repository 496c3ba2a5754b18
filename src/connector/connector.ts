import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import type { Queues } from '../runtime/queue/queues.ts';
import type { KeyRing } from '../runtime/sealing/key-ring.ts';
import { type Account, FIRST_ACCOUNT_ID, FIRST_SUBSCRIPTION_ID } from './accounts/account-store.ts';
import { ensureFirstAccount } from './accounts/first-account.ts';
import { createRegistrar, type Registrar, type RegistrarOptions } from './accounts/registrar.ts';
import { resealSecrets } from './accounts/reseal.ts';
import { createSubscriptionSecrets } from './accounts/subscription-secrets.ts';
import { createWebApp, createWorkerApp } from './api/create-app.ts';
import { createChangesRouter } from './feed/changes-router.ts';
import { createFeed } from './feed/feed.ts';
import { createInboxKeeper } from './inbox/inbox-keeper.ts';
import { createReceiver } from './inbox/receiver.ts';
import { openSendingClient } from './outbox/open-client.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createOutboxMetrics } from './outbox/outbox-metrics.ts';
import { createPollMetrics } from './reconcile/poll-metrics.ts';
import { askForFullSweep } from './reconcile/poll-state.ts';
import { createReconciler } from './reconcile/reconciler.ts';
import { createServiceClient } from './service-client/service-client.ts';

export interface ConnectorOptions {
  readonly database: Database;
  readonly queues: Queues;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `web` serves webhooks and the API, `worker` polls, `all` does both. */
  readonly role: 'all' | 'web' | 'worker';
  readonly apiToken: string;
  readonly keyRing: KeyRing;
  /** The service of the first account. Absent: the service is never called. */
  readonly service?: { readonly baseUrl: string; readonly apiKey: string };
  /** Public HTTPS address of the receiver; set: it is registered at the service. */
  readonly webhookPublicUrl?: string;
  /** Signing secret of a webhook that was registered by hand. */
  readonly webhookSecret?: string;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  /** Between 0 and 1; spreads retries. Default: `Math.random`. */
  readonly random?: () => number;
}

/** One connector process, without its listener. Holds no state that a restart would miss. */
export interface Connector {
  readonly app: RequestListener;
  /** Begins to work: registers the webhook, polls, numbers changes. Call it once the app listens. */
  start(): Promise<void>;
  /** Ends the streams of changes, so that a server can drain. */
  endStreams(): void;
  /** Resolves when nothing that came in is unfinished: commits, polls, numbering. */
  settle(): Promise<void>;
  /** Finishes what was begun and stops. Bounded in time; leaves database and queues open. */
  close(): Promise<void>;
}

/**
 * Puts the parts of a connector together and brings the configured account into the database.
 * Throws what the database throws, and a `SealingError` when a stored secret needs a key that is not in the
 * ring.
 */
export async function createConnector(options: ConnectorOptions): Promise<Connector> {
  const { database, queues, clock, logger, keyRing, role } = options;
  const random = options.random ?? Math.random;
  const owner = randomUUID();
  const metrics = createMetrics({ processMetrics: true });
  await ensureFirstAccount({
    database,
    keyRing,
    clock,
    service: options.service,
    webhookSecret: options.webhookSecret,
  });
  const resealed = await resealSecrets(database, keyRing);
  if (resealed > 0) logger.info({ count: resealed }, 'stored secrets were sealed with the new key');

  const feed = createFeed({ database, clock, logger });
  const keeper = createInboxKeeper({ database, clock, logger, retentionDays: options.inboxRetentionDays });
  // A process that was not told of the service does not call it, even if another one stored its key.
  const mayUse = (account: Account): boolean =>
    account.id !== FIRST_ACCOUNT_ID || options.service !== undefined;
  const outbox = createOutbox({
    database,
    queues,
    clock,
    logger,
    owner,
    random,
    metrics: createOutboxMetrics(metrics),
    sends: role !== 'web',
    clientFor: (accountId) => openSendingClient({ database, keyRing, clock, mayUse }, accountId),
    onCommitted: () => feed.nudge(),
  });
  const reconciler = createReconciler({
    database,
    queues,
    clock,
    logger,
    keyRing,
    owner,
    random,
    metrics: createPollMetrics(metrics),
    intervalMs: options.reconcileIntervalMs,
    onCommitted: () => feed.nudge(),
    polls: mayUse,
  });
  const subscriptions = createSubscriptionSecrets({
    database,
    keyRing,
    clock,
    onAbandonedRotation: () => void registrar?.attempt(),
  });
  await subscriptions.load();
  const registrar = createConfiguredRegistrar(options, {
    owner,
    random,
    onIssued: async () => {
      await subscriptions.load();
      // Deliveries that were signed with another secret may have been refused meanwhile.
      await askForFullSweep(database, FIRST_ACCOUNT_ID);
      await reconciler.pollSoon(FIRST_ACCOUNT_ID);
    },
  });
  const probes = { database, queues, clock, logger, metrics };
  const web = role === 'worker' ? null : createWebSide();

  function createWebSide() {
    const receiver = createReceiver({
      database,
      subscriptions,
      clock,
      logger,
      metrics,
      onCommitted: () => feed.nudge(),
      onConnectionEvent: (accountId) => void reconciler.pollSoon(accountId),
    });
    const changes = createChangesRouter({ feed, clock });
    const { apiToken } = options;
    return {
      app: createWebApp({ ...probes, apiToken, receiver, feed, changes, reconciler, outbox }),
      receiver,
      changes,
    };
  }

  return {
    app: web?.app ?? createWorkerApp(probes),
    async start() {
      feed.start();
      await keeper.keep();
      keeper.start();
      await registrar?.attempt();
      await outbox.start();
      if (role !== 'web') await reconciler.start();
    },
    endStreams: () => web?.changes.endStreams(),
    async settle() {
      await web?.receiver.settle();
      await reconciler.settle();
      await outbox.settle();
      await feed.settle();
    },
    async close() {
      web?.changes.endStreams();
      await web?.receiver.close();
      await Promise.all([reconciler.close(), outbox.close(), registrar?.close(), keeper.close()]);
      await feed.close();
    },
  };
}

function createConfiguredRegistrar(
  { database, clock, logger, keyRing, service, webhookPublicUrl }: ConnectorOptions,
  parts: Pick<RegistrarOptions, 'random' | 'onIssued'> & { readonly owner: string },
): Registrar | undefined {
  if (service === undefined || webhookPublicUrl === undefined) return undefined;
  const { owner, random, onIssued } = parts;
  return createRegistrar({
    keeper: { database, clock, logger, owner },
    keyRing,
    client: createServiceClient({ baseUrl: service.baseUrl, token: () => service.apiKey, clock }),
    subscriptionId: FIRST_SUBSCRIPTION_ID,
    url: webhookPublicUrl,
    random,
    onIssued,
  });
}
