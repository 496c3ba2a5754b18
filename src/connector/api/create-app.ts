import type { RequestListener } from 'node:http';
import type { Express, NextFunction, Request, Response } from 'express';
import type { ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import type { FindingList } from '../../contract/connector/findings.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { createJsonApp } from '../../runtime/http-server/json-app.ts';
import { hostNameOf, isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import { SAFE_HEADERS } from '../../runtime/http-server/safe-headers.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { routeReference } from '../../runtime/page/reference.ts';
import type { NamedHosts } from '../../runtime/public-network/is-named-host.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Account } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Audit } from '../audit/audit.ts';
import type { Consumers } from '../consumers/consumers.ts';
import type { Feed } from '../feed/feed.ts';
import { readAnswers } from '../inbox/answer-log.ts';
import type { Receiver } from '../inbox/receiver.ts';
import type { MediaStore } from '../media/media-store.ts';
import type { OpenFile } from '../media/open-file.ts';
import { routeConsents } from '../oauth/consent-router.ts';
import type { Oauth } from '../oauth/oauth.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { PairingWatches } from '../pairing/pairing-watches.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { Facts } from '../state/facts.ts';
import { readStatistics } from '../statistics/read-statistics.ts';
import { addAccount, listAccounts, removeAccount, rotateSecret, startGrant } from './accounts.ts';
import { ApiError, answerError } from './api-error.ts';
import { refuseUnrouted, routeOperations, serveOpenApi } from './api-router.ts';
import type { ChangesRouter } from './changes-router.ts';
import {
  type ConnectionLifeOptions,
  deleteConnection,
  logoutConnection,
  requestPairingCode,
  restartConnection,
  sendReadReceipt,
} from './connection-life.ts';
import { getConnection, listConnections, mapCustomer } from './connections.ts';
import { operateConsumers } from './consumers.ts';
import { createConnection } from './create-connection.ts';
import { listDeadLetters, removeLetter, replayLetter } from './dead-letters.ts';
import { routeMedia } from './media.ts';
import { getMessage, getMessageTrace, keepMedia, listMessages, renamePeer } from './messages.ts';
import type { Operations } from './operations.ts';
import { cancelOutbound, getOutbound, listOutbound, queueMessage, retryOutbound } from './outbound.ts';
import { routePairing } from './pairing.ts';
import { deletePerson } from './people.ts';
import { healthz, readyz, serveMetrics } from './probes.ts';
import { getSync, syncNow } from './sync.ts';
import type { TokenGuard } from './token-guard.ts';
import { routeTools } from './tool-router.ts';

const FOREIGN_HOST =
  'Host: the connector is not known under this name; list the reverse proxy in CONNECTOR_TRUSTED_PROXIES, or use 127.0.0.1.';
const OPENAPI_PATH = '/v1/openapi.json';
const REFERENCE = { name: 'connector', title: 'Messaging connector', path: OPENAPI_PATH } as const;
const PROBES = ['healthz', 'readyz', 'metrics'] as const;
/** Pages for browsers, if OAuth is configured. */
const CONSENT_ROUTES = ['openGrant', 'goOnWithGrant', 'finishGrant'] as const;
/** Routed separately, because deliveries, streams and files are not JSON. */
const ROUTED_ELSEWHERE = [
  'receiveWebhook',
  'receiveSubscriptionWebhook',
  'streamChanges',
  'streamPairing',
  'getMessageMedia',
] as const satisfies readonly ConnectorEndpointName[];

export interface ProbeParts {
  /** The database that deliveries use, in a process that receives them. */
  readonly probed: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly guard: TokenGuard;
  /** Whether settings and webhook registration allow deliveries. */
  readonly isReady: () => Promise<boolean>;
  /** Public host names of the connector, in addition to those of this machine; undefined allows any name. */
  readonly hosts?: readonly string[] | undefined;
}

export interface WebParts extends ProbeParts {
  readonly database: Database;
  readonly audit: Audit;
  readonly receiver: Receiver;
  readonly feed: Feed;
  readonly changes: ChangesRouter;
  readonly reconciler: Reconciler;
  readonly outbox: Outbox;
  readonly facts: Facts;
  /** Runs the doctor's checks that need nothing but the database. */
  readonly examine: () => Promise<FindingList>;
  readonly consumers: Pick<Consumers, 'notify'>;
  readonly accounts: Accounts;
  /** Null if OAuth is not configured. */
  readonly oauth: Pick<Oauth, 'app' | 'consents'> | null;
  readonly watches: PairingWatches;
  readonly openFile: OpenFile;
  /** Where files are kept; null if they are not. */
  readonly mediaStore: MediaStore | null;
  /** A client of the service for an account; null if this process must not use its credential. */
  readonly clientOf: (account: Account) => ServiceClient | null;
  /** Aborts calls when the process stops. */
  readonly closing: AbortSignal;
  /** Id of the account configured in the environment. */
  readonly isConfigured: (accountId: string) => boolean;
  /** Hosts at which services of added accounts may be; null allows any public address. */
  readonly serviceHosts: NamedHosts | null;
  readonly keyRing: KeyRing;
  /** The Redis of this connector, for queues of consumers without one of their own. */
  readonly redisUrl: string | undefined;
}

/** Serves webhooks and the API. */
export function createWebApp(parts: WebParts): RequestListener {
  const { database, clock, logger, audit, guard } = parts;
  const { feed, reconciler, closing, clientOf, watches, openFile, mediaStore } = parts;
  const { pollSoon } = reconciler;
  const life = { database, clock, clientOf, closing, pollSoon, onChanged: () => feed.notify() };
  const operations = createOperations(parts, life);
  const names = [
    ...ROUTED_ELSEWHERE,
    ...(parts.oauth === null ? [] : CONSENT_ROUTES),
    ...PROBES,
    ...(Object.keys(operations) as (keyof typeof operations)[]),
  ] as const;
  const app = bareApp(parts.hosts);
  routeProbes(app, parts);
  // The document and its page describe published code, so they need no token.
  app.get(OPENAPI_PATH, serveOpenApi(names));
  app.use(routeReference(() => [REFERENCE]));
  // The routes themselves check the rights.
  app.use('/v1', guard.authenticate);
  if (parts.oauth !== null) app.use(routeConsents({ ...parts.oauth, logger, audit }));
  app.use(parts.changes.router);
  app.use(routePairing({ ...life, watches, allow: guard.allow('streamPairing') }));
  const files = { database, clock, logger, openFile, mediaStore, closing };
  app.use(routeMedia({ ...files, allow: guard.allow('getMessageMedia') }));
  app.use(routeOperations(operations, { guard, audit, clock }));
  app.use(routeTools({ ...parts, operations }));
  app.use(refuseUnrouted({ names, extraPaths: [OPENAPI_PATH, '/docs'] }));
  app.use(answerError(parts.logger));
  // Deliveries come first, so that nothing reads their bodies before the signature is verified. They bypass
  // express, which would search its routes for each of them.
  return (request, response) => parts.receiver.router(request, response, () => app(request, response));
}

/** The app of a process that only runs background work: probes and nothing else. */
export function createWorkerApp(parts: ProbeParts): Express {
  const app = bareApp(parts.hosts);
  routeProbes(app, parts);
  app.use(refuseUnrouted({ names: PROBES, extraPaths: [] }));
  app.use(answerError(parts.logger));
  return app;
}

function createOperations(parts: WebParts, life: ConnectionLifeOptions) {
  const { database, clock, reconciler, feed, outbox, facts, mediaStore } = parts;
  const sync = { database, clock, reconciler, facts, settleFeed: () => feed.settle() };
  const sends = { database, clock, notify: outbox.notify, onChanged: () => feed.notify() };
  return {
    listAccounts: listAccounts(parts),
    addAccount: addAccount(parts),
    startGrant: startGrant({ database, consents: parts.oauth?.consents ?? null }),
    removeAccount: removeAccount(parts),
    rotateSecret: rotateSecret(parts),
    listConnections: listConnections(database),
    getConnection: getConnection(database),
    createConnection: createConnection(life),
    restartConnection: restartConnection(life),
    logoutConnection: logoutConnection(life),
    deleteConnection: deleteConnection(life),
    requestPairingCode: requestPairingCode(life),
    sendReadReceipt: sendReadReceipt(life),
    mapCustomer: mapCustomer({ database, clock, onChanged: () => feed.notify() }),
    listMessages: listMessages(database),
    getMessage: getMessage(database),
    getMessageTrace: getMessageTrace(database),
    keepMessageMedia: keepMedia({
      database,
      clock,
      keeps: mediaStore !== null,
      onChanged: () => feed.notify(),
    }),
    erasePerson: deletePerson({ database, clock, mediaStore, onChanged: () => feed.notify() }),
    namePeer: renamePeer({ database, clock, onChanged: () => feed.notify() }),
    queueMessage: queueMessage(sends),
    listOutbound: listOutbound(database),
    getOutbound: getOutbound(database),
    cancelOutbound: cancelOutbound(sends),
    retryOutbound: retryOutbound(sends),
    listDeadLetters: listDeadLetters(database),
    replayDeadLetter: replayLetter({ database, clock, notify: parts.consumers.notify }),
    removeDeadLetter: removeLetter(database),
    listChanges: parts.changes.listChanges,
    ...operateConsumers(parts),
    getSync: getSync(sync),
    listDeliveries: async ({ query }) => ({ deliveries: await readAnswers(database, query) }),
    getFindings: parts.examine,
    getStatistics: async ({ query }) => await readStatistics(database, query.range, clock.now()),
    syncNow: syncNow(sync),
  } satisfies Operations;
}

function bareApp(hosts: readonly string[] | undefined): Express {
  const app = createJsonApp();
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use((_request, response, next) => {
    response.set(SAFE_HEADERS);
    next();
  });
  if (hosts !== undefined) app.use(refuseForeignHosts(hosts));
  return app;
}

/**
 * On a loopback address, requests must use a name of this machine or a public name of the connector. Any
 * other name belongs to a web page that was made to resolve to this machine (DNS rebinding), or to a proxy
 * that is not configured.
 */
function refuseForeignHosts(hosts: readonly string[]) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    const names = (request.headersDistinct['host'] ?? []).map((host) => hostNameOf(host) ?? '');
    if (!names.every((name) => isLoopbackHost(name) || hosts.includes(name)))
      throw new ApiError('foreign_host', FOREIGN_HOST);
    next();
  };
}

function routeProbes(app: Express, { probed, clock, metrics, guard, isReady }: ProbeParts): void {
  app.get('/healthz', healthz);
  app.get('/readyz', readyz({ database: probed, clock, isReady }));
  app.get('/metrics', guard.allow('metrics'), serveMetrics(metrics, clock));
}
