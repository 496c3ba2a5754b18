import type { RequestListener } from 'node:http';
import type { Repeat } from '../runtime/clock/repeat.ts';
import { shareReads } from '../runtime/clock/share-reads.ts';
import type { Database } from '../runtime/database/database.ts';
import { inTurns } from '../runtime/database/in-turns.ts';
import { watchEventLoop } from '../runtime/event-loop/watch-event-loop.ts';
import { measureDatabase } from '../runtime/metrics/measure-database.ts';
import { createMetrics, type Metrics } from '../runtime/metrics/metrics.ts';
import type { Notifier } from '../runtime/notifier/notifier.ts';
import { namedHostsOf } from '../runtime/public-network/is-named-host.ts';
import type { KeyRing } from '../runtime/sealing/key-ring.ts';
import { createTurns } from '../runtime/turns/turns.ts';
import { type Account, FIRST_ACCOUNT_ID, readAccounts } from './accounts/account-store.ts';
import { createAccounts } from './accounts/accounts.ts';
import { clientOf as openClient } from './accounts/credential-source.ts';
import { ensureFirstAccount, firstAccountCandidate } from './accounts/first-account.ts';
import { createReadiness, startTrial, type Trial } from './accounts/settings-trial.ts';
import { claimingSubscription, createSubscriptionSecrets } from './accounts/subscription-secrets.ts';
import { createChangesRouter } from './api/changes-router.ts';
import { createWebApp, createWorkerApp } from './api/create-app.ts';
import { type ApiToken, apiTokensOf, createTokenGuard } from './api/token-guard.ts';
import { createAudit } from './audit/audit.ts';
import { finishCreations } from './connections/create-connection.ts';
import { createConsumerMetrics } from './consumers/consumer-metrics.ts';
import { createConsumers } from './consumers/consumers.ts';
import type { ChangeHandlers } from './consumers/sinks/handler.ts';
import type { Base } from './db/base.ts';
import { createPartitionKeeper } from './db/partition-keeper.ts';
import { resealSecrets } from './db/sealed-columns.ts';
import { examineStored } from './doctor/examine.ts';
import { createFeed } from './feed/feed.ts';
import { createAnswerLog } from './inbox/answer-log.ts';
import { startReadingAgain } from './inbox/read-again.ts';
import { createReceiver } from './inbox/receiver.ts';
import { createReceiverTally } from './inbox/receiver-tally.ts';
import { createFileOpener, readOwnService } from './media/open-file.ts';
import { type MediaStoreSettings, openMedia } from './media/open-media.ts';
import { countRefreshes } from './oauth/grants.ts';
import { createOauth, ensureAppSubscription } from './oauth/oauth.ts';
import type { OauthApp } from './oauth/oauth-app.ts';
import { createOutbox } from './outbox/outbox.ts';
import { createOutboxMetrics, openSendingClient } from './outbox/queue-context.ts';
import { createPairingWatches } from './pairing/pairing-watches.ts';
import { createPollMetrics } from './reconcile/poll-metrics.ts';
import { createReconciler } from './reconcile/reconciler.ts';
import { startRetention } from './retention.ts';
import type { ServiceClient } from './service-client/service-client.ts';
import { createFacts } from './state/facts.ts';
import { measureState } from './state/measure-state.ts';
import { keepStatistics } from './statistics/keep-statistics.ts';
import { createPresence } from './work/presence.ts';

/** An examination answers those who ask within this time. */
const EXAMINED_MS = 30_000;
/** Maximum number of statements of sends at the same time. */
const CONCURRENT_STATEMENTS = 6;
/**
 * Each stream holds a socket, and polls for a QR code every few seconds unless another one watches the same
 * connection.
 */
const MAX_PAIRING_STREAMS = 200;

export interface ConnectorOptions extends Base {
  /**
   * Separate database connections for the receiver, so that deliveries are stored even if all others are in
   * use. Default: the same connections.
   */
  readonly receiverDatabase?: Database | undefined;
  readonly notifier: Notifier;
  /** `web` serves webhooks and the API, `worker` polls, `all` does both. */
  readonly role: 'all' | 'web' | 'worker';
  /** The bearer token with all rights. Not required for a process without an API. */
  readonly apiToken?: string | undefined;
  /** Further bearer tokens, each with its rights. */
  readonly apiTokens?: readonly ApiToken[] | undefined;
  readonly keyRing: KeyRing;
  /** The service of the first account. If absent, this process never calls the service of the settings. */
  readonly service?: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  /** Hosts that the services of added accounts may have, besides the one in the settings. */
  readonly serviceHosts?: readonly string[] | undefined;
  /** The OAuth app of this connector. If absent, grants are neither created nor used. */
  readonly oauth?: OauthApp | undefined;
  /** Public HTTPS address of the receiver. If set, it is registered with the service for API keys. */
  readonly webhookPublicUrl?: string | undefined;
  /** Public host names of this listener, besides those of this machine. If absent, any name is accepted. */
  readonly hosts?: readonly string[] | undefined;
  /** Signing secret of a webhook that was registered by hand. */
  readonly webhookSecret?: string | undefined;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  /** How long changes stay in the feed. Default: for ever. */
  readonly changeRetentionDays?: number | undefined;
  /** How long anything with the text of a message is kept. Default: messages stay for ever. */
  readonly messageRetentionDays?: number | undefined;
  /** The age of the oldest messages that polling stores of a new connection. Default: any age. */
  readonly historyDays?: number | undefined;
  /** Where files of messages are kept. Default: nowhere. */
  readonly mediaStore?: MediaStoreSettings | undefined;
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
  readonly metrics?: Metrics | undefined;
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

/** A part of a connector. Parts are started in the order of their list, settled in it, and closed together. */
interface Part {
  readonly start?: (() => unknown) | undefined;
  /** Resolves when nothing of it is in progress. */
  readonly settle?: (() => Promise<unknown>) | undefined;
  readonly close?: (() => unknown) | undefined;
}

/**
 * Creates the parts of a connector, stores the configured account, and tries its credential if it differs from
 * the stored one. Until the service has accepted it, this process does not poll, send or register anything for
 * the account. Throws what the database throws, a `SealingError` if a stored secret needs a key that is not in
 * the key ring, and a `ConfigurationError` if the service refuses the settings.
 */
export async function createConnector(options: ConnectorOptions): Promise<Connector> {
  const { database, receiverDatabase = database, notifier, clock, logger, keyRing, role } = options;
  const works = role !== 'web';
  const random = options.random ?? Math.random;
  const metrics = options.metrics ?? createMetrics({ processMetrics: true });
  const audit = createAudit({ logger, clock });
  const base = { database, clock, logger, keyRing, audit, redisUrl: options.redisUrl };
  const handles = works && options.handlers !== undefined;
  const presence = createPresence({ ...base, works, handles });
  const tokens = apiTokensOf(options);
  const guard = createTokenGuard({ tokens, audit });
  const what = tokens.map(({ name, rights }) => `${name} ${rights.join('+')}`);
  audit.note('tokens.loaded', { who: 'settings', what, result: 'ok' });
  const { service, webhookSecret, webhookPublicUrl: publicUrl } = options;
  const serviceHosts = namedHostsOf(service?.baseUrl ?? options.oauth?.baseUrl, options.serviceHosts);
  const first = { ...base, service, webhookSecret };
  await ensureFirstAccount(first);
  if (options.oauth !== undefined) await ensureAppSubscription(base, options.oauth, publicUrl);
  const resealed = await resealSecrets(database, keyRing);
  if (resealed > 0) logger.info({ count: resealed }, 'stored secrets were sealed with the new key');
  const receiving = { ...base, database: receiverDatabase };
  const separate = options.receiverDatabase === undefined ? {} : { receiver: receiverDatabase };
  measureDatabase(metrics, { main: database, ...separate });

  const closing = new AbortController();
  const feed = createFeed(base);
  const onCommitted = (): void => feed.notify();
  const onRefreshed = countRefreshes(metrics);
  const oauth =
    options.oauth === undefined
      ? null
      : createOauth({
          ...base,
          app: options.oauth,
          owner: presence.id,
          random,
          onRefreshed,
          keeps: works,
          // Called for requests, so the parts that are created below exist by then.
          onGranted: async (accountId, renewed) => {
            const event = renewed ? 'account.changed' : 'account.added';
            audit.note(event, { what: 'consent', id: accountId, result: 'ok' });
            await accounts.takeUp(accountId);
            await reconciler.pollSoon(accountId);
          },
        });
  const trial = await startTrial(
    base,
    service === undefined ? undefined : firstAccountCandidate(first, service),
  );
  const appTrial = await startTrial(base, oauth?.candidate).catch(async (error: unknown) => {
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
  /** What work under leases needs, and calls to the service. */
  const working = { ...base, notifier, presence, random, grants, mayUse, onCommitted };
  const openFile = createFileOpener({
    clock,
    ownService: (accountId) => readOwnService(database, accountId),
  });
  const media = await openMedia({ ...working, settings: options.mediaStore, openFile, works });
  const clientOf = (account: Account): ServiceClient | null =>
    mayUse(account) && account.hasCredential ? openClient(working, account) : null;
  // Thousands of sends may begin at once; others, such as heartbeats, must find a free connection.
  const sending = { ...working, database: inTurns(database, createTurns(CONCURRENT_STATEMENTS)) };
  const outbox = createOutbox({
    ...sending,
    metrics: createOutboxMetrics(metrics),
    clientFor: (accountId) => openSendingClient(sending, accountId),
  });
  const facts = createFacts({ database, clock, outbox, app: oauth?.subscriptionId });
  measureState(metrics, facts);
  const statistics = keepStatistics({ database, clock, logger, metrics });
  const consumers = createConsumers({
    ...working,
    metrics: createConsumerMetrics(metrics),
    feed,
    works,
    serviceHosts,
    handlers: works ? options.handlers : undefined,
  });
  const reconciler = createReconciler({
    ...working,
    metrics: createPollMetrics(metrics),
    intervalMs: options.reconcileIntervalMs,
    historyDays: options.historyDays,
    onServiceBack: (accountId) => void outbox.resumeSends(accountId),
  });
  const subscriptions = createSubscriptionSecrets(receiving);
  await subscriptions.load();
  const accounts = createAccounts({
    ...working,
    publicUrl,
    noticeMs: options.rotationNoticeMs,
    onIssued: async (accountId, how) => {
      // A rotation writes its own audit line.
      const details = { what: 'webhook', id: accountId, result: 'ok' };
      if (how === 'registered') audit.note('account.changed', details);
      await subscriptions.load();
      // Deliveries that were signed with the other secret may have been refused in the meantime.
      await reconciler.pollSoon(accountId, { fullSweep: true });
    },
    polling: reconciler,
    polls: works,
    onRemoved: oauth?.revokeRemoved,
  });
  const watches = createPairingWatches({ clock, logger, random, maxViewers: MAX_PAIRING_STREAMS });
  metrics.gauge('connector_pairing_streams', 'QR code streams that are open in this process.', [], (gauge) =>
    gauge.set(watches.viewers),
  );
  const registers = service !== undefined && publicUrl !== undefined;
  const readiness = createReadiness(base, [trial, appTrial], registers);
  const { isReady } = readiness;
  const probes = { ...base, probed: receiverDatabase, metrics, guard, hosts: options.hosts, isReady };
  const web = role === 'worker' ? null : createWebSide();
  const { messageRetentionDays: messageDays = Infinity } = options;
  const inboxDays = Math.min(options.inboxRetentionDays, messageDays);
  const changeDays = Math.min(options.changeRetentionDays ?? Infinity, messageDays);
  const keeper = createPartitionKeeper({ ...base, inboxDays, changeDays, messageDays });
  const finishing = finishCreations({ ...working, clientOf, closing: closing.signal });

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
  function whenAccepted({ isAccepted, accepted }: Trial, begin: () => Promise<unknown>): void {
    if (isAccepted) return;
    accepted
      .then(
        (accepts) => (accepts ? begin() : undefined),
        () => undefined,
      )
      .catch((err: unknown) => logger.error({ err }, 'an account could not be started; retrying later'));
  }

  function createWebSide() {
    const tally = createReceiverTally(receiving);
    const answers = createAnswerLog(receiving);
    const receiver = createReceiver({
      ...receiving,
      subscriptions,
      metrics,
      tally,
      answers,
      onCommitted,
      onConnectionEvent: (accountId) => void pollClaimants(accountId),
    });
    const changes = createChangesRouter({ feed, clock, allow: guard.allow });
    // The account of the settings would return with the next start, so the API cannot remove it.
    const isConfigured = (id: string): boolean =>
      id === FIRST_ACCOUNT_ID && (service ?? webhookSecret) !== undefined;
    const examine = shareReads(() => examineStored(database, clock, options), { clock, ms: EXAMINED_MS });
    const parts = {
      examine,
      receiver,
      feed,
      changes,
      reconciler,
      outbox,
      facts,
      consumers,
      accounts,
      openFile,
      mediaStore: media.store,
      oauth,
    };
    const calls = { clientOf, watches, closing: closing.signal, isConfigured, serviceHosts };
    return { app: createWebApp({ ...probes, ...parts, ...calls }), receiver, tally, answers, changes };
  }

  let retention: Repeat | undefined;
  let readingAgain: Repeat | undefined;
  let stopWatching = (): void => undefined;
  const parts: readonly Part[] = [
    { start: presence.start, close: () => closing.abort() },
    { start: feed.start },
    {
      start: () => {
        stopWatching = watchEventLoop(base);
      },
      close: () => stopWatching(),
    },
    // What it has counted last is written when it stops, also by a process that serves no requests.
    { start: statistics.start, close: () => statistics.runNow().then(statistics.stop, statistics.stop) },
    { start: () => keeper.keep().then(keeper.start), close: keeper.close },
    {
      start() {
        if (!works) return;
        retention = startRetention({ ...working, messageDays, changeDays });
        readingAgain = startReadingAgain(working);
      },
      // What is deleted causes no work.
      settle: async () => readingAgain?.settle(),
      close: () => Promise.all([retention?.stop(), readingAgain?.stop()]),
    },
    ...(web === null ? [] : [{ settle: web.receiver.settle }, web.tally, web.answers]),
    ...(oauth === null ? [] : [{ ...oauth, start: () => (appTrial.isAccepted ? oauth.start() : undefined) }]),
    { ...outbox, start: works ? outbox.start : undefined },
    ...(media.keeper === null ? [] : [media.keeper]),
    ...(works ? [{ start: finishing.start, settle: finishing.runNow, close: finishing.stop }] : []),
    {
      close() {
        watches.close();
        return watches.settle();
      },
    },
    { start: consumers.start, close: consumers.close },
    { ...reconciler, start: works ? reconciler.start : undefined },
    // It waits for services that may not answer.
    accounts,
    { start: () => whenAccepted(trial, accounts.check), close: trial.close },
    {
      start: () => whenAccepted(appTrial, () => Promise.all([oauth?.start(), accounts.check()])),
      close: appTrial.close,
    },
  ];

  return {
    app: web?.app ?? createWorkerApp(probes),
    untilAccepted: readiness.untilAccepted,
    untilReady: readiness.untilReady,
    async start() {
      for (const { start } of parts) await start?.();
    },
    endStreams() {
      web?.changes.endStreams();
      watches.close();
    },
    /**
     * A part may cause work for any other, as a handler that queues a message does, and whatever it does is a change: so
     * it ends with a round in which there was none.
     */
    async settle() {
      for (let before = -1, last = 0; last !== before; ) {
        before = last;
        for (const { settle } of parts) await settle?.();
        await feed.settle();
        last = (await feed.position()).lastSeq;
        await consumers.settle();
      }
    },
    async close() {
      readiness.close();
      web?.changes.endStreams();
      await web?.receiver.close();
      await Promise.all(parts.map(({ close }) => close?.()));
      // Last, because other processes may take over the released work only once it has ended.
      await presence.stop();
      await feed.close();
      audit.close();
    },
  };
}
