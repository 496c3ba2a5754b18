import type { RequestListener } from 'node:http';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import { inTurns } from '../runtime/database/in-turns.ts';
import { watchEventLoop } from '../runtime/event-loop/watch-event-loop.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { measureDatabase } from '../runtime/metrics/measure-database.ts';
import { createMetrics, type Metrics } from '../runtime/metrics/metrics.ts';
import type { Notifier } from '../runtime/notifier/notifier.ts';
import { namedHostsOf } from '../runtime/public-network/is-named-host.ts';
import type { KeyRing } from '../runtime/sealing/key-ring.ts';
import { createTurns } from '../runtime/turns/turns.ts';
import { type Account, FIRST_ACCOUNT_ID, readAccounts } from './accounts/account-store.ts';
import { createAccounts } from './accounts/accounts.ts';
import { ensureFirstAccount, firstAccountCandidate } from './accounts/first-account.ts';
import { createReadiness } from './accounts/readiness.ts';
import { startTrial, type Trial } from './accounts/settings-trial.ts';
import { createSubscriptionSecrets } from './accounts/subscription-secrets.ts';
import { createChangesRouter } from './api/changes-router.ts';
import { createWebApp, createWorkerApp } from './api/create-app.ts';
import { type ApiToken, apiTokensOf, createTokenGuard } from './api/token-guard.ts';
import { createAudit } from './audit/audit.ts';
import { createConnectionCalls } from './connections/connection-calls.ts';
import { createConsumerMetrics } from './consumers/consumer-metrics.ts';
import { createConsumers } from './consumers/consumers.ts';
import type { ChangeHandlers } from './consumers/sinks/handler.ts';
import { resealSecrets } from './db/sealed-columns.ts';
import { createFeed } from './feed/feed.ts';
import { claimingSubscription } from './inbox/assign-accounts.ts';
import { createInboxKeeper } from './inbox/inbox-keeper.ts';
import { startReadingAgain } from './inbox/read-again.ts';
import { createReceiver } from './inbox/receiver.ts';
import { createReceiverTally } from './inbox/receiver-tally.ts';
import { createFileOpener } from './media/open-file.ts';
import { readOwnService } from './media/own-service.ts';
import { ensureAppSubscription } from './oauth/app-subscription.ts';
import { countRefreshes, createOauth } from './oauth/oauth.ts';
import type { OauthApp } from './oauth/oauth-app.ts';
import { openSendingClient } from './outbox/open-client.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createOutboxMetrics } from './outbox/outbox-metrics.ts';
import { createPollMetrics } from './reconcile/poll-metrics.ts';
import { createReconciler } from './reconcile/reconciler.ts';
import { startRetention } from './retention.ts';
import { settleParts } from './settle-parts.ts';
import { measureState } from './state/measure-state.ts';
import { createPresence } from './work/presence.ts';

/** Maximum number of statements of sends at the same time. */
const CONCURRENT_STATEMENTS = 6;

export interface ConnectorOptions {
  readonly database: Database;
  /**
   * Separate database connections for the receiver, so that deliveries are stored even if all others are in
   * use. Default: the same connections.
   */
  readonly receiverDatabase?: Database;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `web` serves webhooks and the API, `worker` polls, `all` does both. */
  readonly role: 'all' | 'web' | 'worker';
  /** The bearer token with all rights. Not required for a process without an API. */
  readonly apiToken?: string | undefined;
  /** Further bearer tokens, each with its rights. */
  readonly apiTokens?: readonly ApiToken[] | undefined;
  readonly keyRing: KeyRing;
  /** The service of the first account. If absent, this process never calls the service of the settings. */
  readonly service?: { readonly baseUrl: string; readonly apiKey: string };
  /** Hosts that the services of added accounts may have, besides the one in the settings. */
  readonly serviceHosts?: readonly string[];
  /** The OAuth app of this connector. If absent, grants are neither created nor used. */
  readonly oauth?: OauthApp;
  /** Public HTTPS address of the receiver. If set, it is registered with the service for API keys. */
  readonly webhookPublicUrl?: string;
  /** Public host names of this listener, besides those of this machine. If absent, any name is accepted. */
  readonly hosts?: readonly string[];
  /** Signing secret of a webhook that was registered by hand. */
  readonly webhookSecret?: string;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  /** The CRM's own code, called with each change. Not called in role `web`. */
  readonly handlers?: ChangeHandlers | undefined;
  /** The Redis of this connector, for the queues of consumers without one of their own. */
  readonly redisUrl?: string | undefined;
  /**
   * Time between announcing the rotation of a secret and the call. Default: enough for every process to have
   * seen the announcement.
   */
  readonly rotationNoticeMs?: number;
  /** Where metrics are registered; `GET /metrics` shows them. Default: metrics of this process. */
  readonly metrics?: Metrics;
  /** Between 0 and 1; spreads retries. Default: `Math.random`. */
  readonly random?: () => number;
}

/** One connector process, without its listener. All state that a restart needs is in the database. */
export interface Connector {
  readonly app: RequestListener;
  /**
   * Resolves with true once the service has accepted the settings, or with false if the connector is closed
   * before. Rejects with a `ConfigurationError` if the service refuses them.
   */
  untilAccepted(): Promise<boolean>;
  /** Starts the work: registers the webhook, polls, numbers changes. Call it once the app listens. */
  start(): Promise<void>;
  /**
   * Like `untilAccepted`, but also waits until the webhook is registered: from then on, a proxy may send
   * deliveries here.
   */
  untilReady(): Promise<boolean>;
  /** Ends the streams of changes and QR codes, so that a server can drain. */
  endStreams(): void;
  /** Resolves when nothing is in progress: commits, polls, sends, numbering, calls of the handlers. */
  settle(): Promise<void>;
  /** Finishes work in progress and stops. The time is limited. Does not close the database or the notifier. */
  close(): Promise<void>;
}

/**
 * Creates the parts of a connector, stores the configured account, and tries its credential if it differs from
 * the stored one. Until the service has accepted it, this process does not poll, send or register anything for
 * the account. Throws what the database throws, a `SealingError` if a stored secret needs a key that is not in
 * the key ring, and a `ConfigurationError` if the service refuses the settings.
 */
export async function createConnector(options: ConnectorOptions): Promise<Connector> {
  const { database, receiverDatabase = database, notifier, clock, logger, keyRing, role } = options;
  const random = options.random ?? Math.random;
  const base = { database, clock, logger, keyRing, redisUrl: options.redisUrl };
  const presence = createPresence({ ...base, works: role !== 'web' });
  /** What work under leases needs. */
  const working = { ...base, notifier, presence, random };
  const metrics = options.metrics ?? createMetrics({ processMetrics: true });
  const audit = createAudit({ logger, clock });
  const tokens = apiTokensOf(options);
  const guard = createTokenGuard({ tokens, audit });
  const what = tokens.map(({ name, rights }) => `${name} ${rights.join('+')}`);
  audit.note('tokens.loaded', { who: 'settings', what, result: 'ok' });
  const { service, webhookSecret } = options;
  const serviceHosts = namedHostsOf(service?.baseUrl ?? options.oauth?.baseUrl, options.serviceHosts);
  const first = { database, keyRing, clock, service, webhookSecret, audit };
  await ensureFirstAccount(first);
  if (options.oauth !== undefined) {
    await ensureAppSubscription(
      { ...base, keyRing, audit, publicUrl: options.webhookPublicUrl },
      options.oauth,
    );
  }
  const resealed = await resealSecrets(database, keyRing);
  if (resealed > 0) logger.info({ count: resealed }, 'stored secrets were sealed with the new key');

  measureDatabase(
    metrics,
    options.receiverDatabase === undefined
      ? { main: database }
      : { main: database, receiver: receiverDatabase },
  );
  const onRefreshEnd = countRefreshes(metrics);
  const feed = createFeed(base);
  const keeper = createInboxKeeper({ ...base, retentionDays: options.inboxRetentionDays });
  const candidate = service === undefined ? undefined : firstAccountCandidate(first, service);
  const oauth =
    options.oauth === undefined
      ? null
      : createOauth({
          ...base,
          app: options.oauth,
          owner: presence.id,
          random,
          onRefreshEnd,
          keeps: role !== 'web',
          // Called for requests, so the parts that are created below exist by then.
          onGranted: async (accountId, renewed) => {
            const event = renewed ? 'account.changed' : 'account.added';
            audit.note(event, { what: 'consent', id: accountId, result: 'ok' });
            await accounts.takeUp(accountId);
            await reconciler.pollSoon(accountId);
          },
        });
  const trying = { ...base, audit };
  const trial = await startTrial(trying, candidate);
  const appTrial = await startTrial(trying, oauth?.candidate).catch(async (error: unknown) => {
    await trial.close();
    throw error;
  });
  // A process without a configured service does not call it, even if another process has stored its key.
  const mayUse = (account: Account): boolean => {
    if (account.kind === 'oauth')
      return account.subscriptionId === oauth?.subscriptionId && appTrial.isAccepted;
    return account.id !== FIRST_ACCOUNT_ID || (service !== undefined && trial.isAccepted);
  };
  const grants = oauth?.credentials;
  const openFile = createFileOpener({
    clock,
    ownService: (accountId) => readOwnService(database, accountId),
  });
  // Thousands of sends may begin at once; others, such as heartbeats, must find a free connection.
  const ofSends = inTurns(database, createTurns(CONCURRENT_STATEMENTS));
  const outbox = createOutbox({
    ...working,
    database: ofSends,
    metrics: createOutboxMetrics(metrics),
    clientFor: (accountId) =>
      openSendingClient({ database: ofSends, keyRing, clock, grants, mayUse }, accountId),
    onCommitted: () => feed.notify(),
  });
  measureState(metrics, database, clock, outbox);
  const consumers = createConsumers({
    ...working,
    metrics: createConsumerMetrics(metrics),
    feed,
    works: role !== 'web',
    serviceHosts,
    handlers: role === 'web' ? undefined : options.handlers,
  });
  const reconciler = createReconciler({
    ...working,
    metrics: createPollMetrics(metrics),
    intervalMs: options.reconcileIntervalMs,
    onCommitted: () => feed.notify(),
    onServiceBack: (accountId) => void outbox.resumeSends(accountId),
    polls: mayUse,
    grants,
  });
  const subscriptions = createSubscriptionSecrets({ database: receiverDatabase, keyRing, clock });
  await subscriptions.load();
  const accounts = createAccounts({
    ...working,
    publicUrl: options.webhookPublicUrl,
    noticeMs: options.rotationNoticeMs,
    mayUse,
    onIssued: async (accountId, how) => {
      // A rotation writes its own audit line.
      const details = { what: 'webhook', id: accountId, result: 'ok' };
      if (how === 'registered') audit.note('account.changed', details);
      await subscriptions.load();
      // Deliveries that were signed with the other secret may have been refused in the meantime.
      await reconciler.pollSoon(accountId, { fullSweep: true });
    },
    polling: reconciler,
    polls: role !== 'web',
    onRemoved: oauth?.revokeRemoved,
  });
  const calls = createConnectionCalls({
    ...working,
    grants,
    mayUse,
    finishes: role !== 'web',
    onCommitted: () => feed.notify(),
  });
  metrics.gauge('connector_pairing_streams', 'QR code streams that are open in this process.', [], (gauge) =>
    gauge.set(calls.watches.viewers),
  );
  const readiness = createReadiness({
    database,
    clock,
    trials: [trial, appTrial],
    registers: service !== undefined && options.webhookPublicUrl !== undefined,
  });
  let stopRetention = (): Promise<void> => Promise.resolve();
  let readingAgain: ReturnType<typeof startReadingAgain> | undefined;
  const probes = {
    ...base,
    notifier,
    metrics,
    guard,
    hosts: options.hosts,
    isReady: readiness.isReady,
  };
  let stopWatching = (): void => undefined;
  const web = role === 'worker' ? null : createWebSide();

  /** Polls the account, or every account that may list a connection which no account has claimed. */
  async function pollClaimants(accountId: string): Promise<void> {
    const subscriptionId = claimingSubscription(accountId);
    if (subscriptionId === null) return await reconciler.pollSoon(accountId);
    const all = await readAccounts(database).catch(() => []);
    for (const { id } of all.filter((account) => account.subscriptionId === subscriptionId)) {
      await reconciler.pollSoon(id);
    }
  }

  /** A refusal was already logged when it was received. */
  function whenAccepted({ accepted }: Trial, begin: () => Promise<void>): void {
    accepted
      .then(
        (isAccepted) => (isAccepted ? begin() : undefined),
        () => undefined,
      )
      .catch((err: unknown) => logger.error({ err }, 'an account could not be started; retrying later'));
  }

  async function takeUpApp(): Promise<void> {
    await oauth?.start();
    for (const { id, kind } of await readAccounts(database)) if (kind === 'oauth') await accounts.takeUp(id);
  }

  function createWebSide() {
    const tally = createReceiverTally({ ...base, database: receiverDatabase });
    const receiver = createReceiver({
      ...base,
      database: receiverDatabase,
      subscriptions,
      metrics,
      tally,
      audit,
      onCommitted: () => feed.notify(),
      onConnectionEvent: (accountId) => void pollClaimants(accountId),
    });
    const changes = createChangesRouter({ feed, clock, allow: guard.allow });
    // The account of the settings would return with the next start, so the API cannot remove it.
    const isConfigured = (id: string): boolean =>
      id === FIRST_ACCOUNT_ID && (service ?? webhookSecret) !== undefined;
    return {
      app: createWebApp({
        ...probes,
        audit,
        receiver,
        feed,
        changes,
        reconciler,
        outbox,
        consumers,
        accounts,
        presence,
        openFile,
        clientOf: calls.clientOf,
        watches: calls.watches,
        closing: calls.closing,
        isConfigured,
        serviceHosts,
        oauth,
      }),
      receiver,
      tally,
      changes,
    };
  }

  return {
    app: web?.app ?? createWorkerApp(probes),
    untilAccepted: readiness.untilAccepted,
    untilReady: readiness.untilReady,
    async start() {
      await presence.start();
      if (role !== 'web') stopRetention = startRetention({ ...base, presence });
      feed.start();
      stopWatching = watchEventLoop({ clock, logger });
      await keeper.keep();
      keeper.start();
      if (role !== 'web')
        readingAgain = startReadingAgain({ ...base, presence, onCommitted: () => feed.notify() });
      web?.tally.start();
      if (appTrial.isAccepted) await oauth?.start();
      await accounts.start();
      if (role !== 'web') await outbox.start();
      await calls.start();
      await consumers.start();
      if (role !== 'web') await reconciler.start();
      if (!trial.isAccepted) whenAccepted(trial, () => accounts.takeUp(FIRST_ACCOUNT_ID));
      if (!appTrial.isAccepted) whenAccepted(appTrial, takeUpApp);
    },
    endStreams() {
      web?.changes.endStreams();
      calls.watches.close();
    },
    settle: () =>
      settleParts({
        writers: [web?.receiver, readingAgain, oauth, accounts, reconciler, outbox, calls],
        feed,
        consumers,
      }),
    async close() {
      stopWatching();
      readiness.close();
      web?.changes.endStreams();
      await web?.receiver.close();
      await Promise.all([
        reconciler.close(),
        outbox.close(),
        consumers.close(),
        accounts.close(),
        trial.close(),
        appTrial.close(),
        oauth?.close(),
        calls.close(),
        keeper.close(),
        stopRetention(),
        readingAgain?.stop(),
        web?.tally.close(),
      ]);
      // Last, because other processes may take over the released work only once it has ended.
      await presence.stop();
      await feed.close();
      audit.close();
    },
  };
}
