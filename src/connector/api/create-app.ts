import type { RequestListener } from 'node:http';
import type { Express, NextFunction, Request, Response } from 'express';
import type { ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { createJsonApp } from '../../runtime/http-server/json-app.ts';
import { hostNameOf, isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import { SAFE_HEADERS } from '../../runtime/http-server/safe-headers.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { routeReference } from '../../runtime/page/reference.ts';
import type { Audit } from '../audit/audit.ts';
import { readAnswers } from '../inbox/answer-log.ts';
import type { Receiver } from '../inbox/receiver.ts';
import type { OpenFile } from '../media/open-file.ts';
import { routeConsents } from '../oauth/consent-router.ts';
import type { PairingWatches } from '../pairing/pairing-watches.ts';
import { readStatistics } from '../statistics/read-statistics.ts';
import { operateAccounts } from './accounts.ts';
import { ApiError, answerError } from './api-error.ts';
import { refuseUnrouted, routeOperations, serveOpenApi } from './api-router.ts';
import type { ChangesRouter } from './changes-router.ts';
import { controlConnections } from './connection-life.ts';
import { operateConnections } from './connections.ts';
import { operateConsumers } from './consumers.ts';
import { createConnection } from './create-connection.ts';
import { operateDeadLetters } from './dead-letters.ts';
import { routeMedia } from './media.ts';
import { operateMessages } from './messages.ts';
import type { ApiParts, Operations } from './operations.ts';
import { operateOutbound } from './outbound.ts';
import { routePairing } from './pairing.ts';
import { deletePerson } from './people.ts';
import { healthz, readyz, serveMetrics } from './probes.ts';
import { operateSync } from './sync.ts';
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

export interface WebParts extends ApiParts, ProbeParts {
  readonly audit: Audit;
  readonly receiver: Receiver;
  readonly changes: ChangesRouter;
  readonly watches: PairingWatches;
  readonly openFile: OpenFile;
}

/** Serves webhooks and the API. */
export function createWebApp(parts: WebParts): RequestListener {
  const { clock, logger, audit, guard, oauth } = parts;
  const operations = createOperations(parts);
  const names = [
    ...ROUTED_ELSEWHERE,
    ...(oauth === null ? [] : CONSENT_ROUTES),
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
  if (oauth !== null) app.use(routeConsents({ ...oauth, logger, audit }));
  app.use(parts.changes.router);
  app.use(routePairing({ ...parts, allow: guard.allow('streamPairing') }));
  app.use(routeMedia({ ...parts, allow: guard.allow('getMessageMedia') }));
  app.use(routeOperations(operations, { guard, audit, clock }));
  app.use(routeTools({ ...parts, operations }));
  app.use(refuseUnrouted(names, [OPENAPI_PATH, '/docs']));
  app.use(answerError(parts.logger));
  // Deliveries come first, so that nothing reads their bodies before the signature is verified. They bypass
  // express, which would search its routes for each of them.
  return (request, response) => parts.receiver.router(request, response, () => app(request, response));
}

/** The app of a process that only runs background work: probes and nothing else. */
export function createWorkerApp(parts: ProbeParts): Express {
  const app = bareApp(parts.hosts);
  routeProbes(app, parts);
  app.use(refuseUnrouted(PROBES));
  app.use(answerError(parts.logger));
  return app;
}

function createOperations(parts: WebParts) {
  const { database, clock, changes } = parts;
  return {
    ...operateAccounts(parts),
    ...operateConnections(parts),
    ...controlConnections(parts),
    createConnection: createConnection(parts),
    ...operateMessages(parts),
    erasePerson: deletePerson(parts),
    ...operateOutbound(parts),
    listChanges: changes.listChanges,
    ...operateConsumers(parts),
    ...operateDeadLetters(parts),
    ...operateSync(parts),
    listDeliveries: async ({ query }) => ({ deliveries: await readAnswers(database, query) }),
    getFindings: parts.examine,
    getStatistics: async ({ query }) => await readStatistics(database, query.range, clock.now()),
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
