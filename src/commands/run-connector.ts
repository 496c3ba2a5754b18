import type { ServerResponse } from 'node:http';
import type { ApiToken } from '../connector/api/token-guard.ts';
import { type Connector, createConnector } from '../connector/connector.ts';
import type { ChangeHandlers } from '../connector/consumers/sinks/handler.ts';
import { readPosition } from '../connector/feed/read-changes.ts';
import { explainPath } from '../connector/inbox/webhook-path.ts';
import type { MediaStoreSettings } from '../connector/media/open-media.ts';
import type { OauthApp } from '../connector/oauth/oauth-app.ts';
import { CONNECTOR_ERRORS } from '../contract/connector/errors.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { type Database, openDatabase } from '../runtime/database/database.ts';
import { type HttpLimits, startHttpServer } from '../runtime/http-server/http-server.ts';
import { isLoopbackAddress } from '../runtime/http-server/loopback.ts';
import { openParts } from '../runtime/lifecycle/open-parts.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import type { Metrics } from '../runtime/metrics/metrics.ts';
import { openNotifier } from '../runtime/notifier/open-notifier.ts';
import { createKeyRing } from '../runtime/sealing/key-ring.ts';
import { migrateSchema } from './server-database.ts';

/** The service that a connector uses. */
export type ServiceOfConnector = Pick<RunConnectorOptions, 'service' | 'oauth'>;

export interface RunConnectorOptions {
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly role: 'all' | 'web' | 'worker';
  /** The bearer token with all rights. */
  readonly apiToken?: string | undefined;
  /** Additional bearer tokens. */
  readonly apiTokens?: readonly ApiToken[] | undefined;
  readonly sealingKeys: readonly string[];
  readonly service?: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  /** Hosts at which added accounts may have their service, besides that of the settings. */
  readonly serviceHosts?: readonly string[] | undefined;
  /** The connector's OAuth app. */
  readonly oauth?: OauthApp | undefined;
  readonly webhookPublicUrl?: string | undefined;
  readonly webhookSecret?: string | undefined;
  /** Addresses and CIDR ranges of reverse proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly reconcileIntervalMs: number;
  readonly inboxRetentionDays: number;
  readonly changeRetentionDays?: number | undefined;
  readonly messageRetentionDays?: number | undefined;
  readonly historyDays?: number | undefined;
  /** Where files of messages are kept. Default: nowhere. */
  readonly mediaStore?: MediaStoreSettings | undefined;
  /** The CRM's own code, called with each change. */
  readonly handlers?: ChangeHandlers | undefined;
  /** What sets the port, for the message printed when the port is in use. Default: `CONNECTOR_PORT`. */
  readonly portSetting?: string | undefined;
  /** Called when the receiver is reachable, before it is registered with the service. */
  readonly onListening?: (url: string) => void;
  /**
   * How long requests that are open at shutdown may take. Short by default, because senders are rejected
   * meanwhile; longer if another process listens on the same port.
   */
  readonly drainMs?: number | undefined;
  /**
   * Other processes serve the same port: this one listens only after the service has accepted its settings.
   */
  readonly sharesPort?: boolean | undefined;
  /** The metrics shown by `GET /metrics`. Default: metrics of this connector only. */
  readonly metrics?: Metrics | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Two commits at a time, one check of the secrets, and one in reserve. */
const RECEIVER_CONNECTIONS = 4;

/**
 * A sender needs one connection per delivery in flight; a client that needs more is a proxy that should be
 * configured.
 */
const HTTP_LIMITS: Partial<HttpLimits> = {
  headersTimeoutMs: 5_000,
  checkIntervalMs: 1_000,
  maxPerAddress: 1_024,
};

export interface RunningConnector {
  readonly url: string;
  /** See `Connector.untilReady`. */
  untilReady(): Promise<boolean>;
  /** Resolves when everything received has been processed. */
  settle(): Promise<void>;
  /** The connections that its work uses. */
  readonly database: Database;
  /**
   * Stops the work, runs `work`, and starts again with the service that it resolves with, or with the one of the
   * start if it throws. The listener and the database connections stay open; requests are answered with 503.
   */
  restart(work: () => Promise<ServiceOfConnector>): Promise<void>;
  /** Answers open requests, then stops. No accepted webhook is lost. */
  close(): Promise<void>;
}

/**
 * Starts the work of one connector process: migrations, database, Redis and server, then polling, depending
 * on its role. The process may not be ready yet when this resolves: see `untilReady`.
 * @throws what its parts throw, and a `ConfigurationError` if the service rejects a setting; everything that
 * was opened is closed again.
 */
export async function runConnector(options: RunConnectorOptions): Promise<RunningConnector> {
  const { databaseUrl, clock, logger, webhookPublicUrl } = options;
  const path = webhookPublicUrl === undefined ? null : explainPath(webhookPublicUrl);
  if (path !== null) logger.warn({ setting: 'WEBHOOK_PUBLIC_URL' }, path);
  return await openParts(async (opened) => {
    await migrateSchema('connector', { url: databaseUrl, clock, logger });
    const open = (name: string, poolSize?: number): Database => {
      const size = poolSize === undefined ? {} : { poolSize };
      const pool = openDatabase({ url: databaseUrl, name, ...size, clock, logger });
      opened.add(() => pool.close());
      return pool;
    };
    const database = open(`connector-${options.role}`);
    const { feedId } = await readPosition(database);
    const notifier = await openNotifier({
      database,
      databaseUrl,
      redisUrl: options.redisUrl,
      prefix: `connector-${feedId}`,
      clock,
      logger,
    });
    opened.add(() => notifier.close());
    const receiverDatabase =
      options.role === 'worker' ? undefined : open('connector-receiver', RECEIVER_CONNECTIONS);
    const create = ({ service, oauth }: ServiceOfConnector): Promise<Connector> =>
      createConnector({
        database,
        ...(receiverDatabase === undefined ? {} : { receiverDatabase }),
        notifier,
        clock,
        logger,
        role: options.role,
        apiToken: options.apiToken,
        apiTokens: options.apiTokens,
        keyRing: createKeyRing(options.sealingKeys),
        ...hostsOf(options),
        reconcileIntervalMs: options.reconcileIntervalMs,
        inboxRetentionDays: options.inboxRetentionDays,
        changeRetentionDays: options.changeRetentionDays,
        messageRetentionDays: options.messageRetentionDays,
        historyDays: options.historyDays,
        mediaStore: options.mediaStore,
        ...(service === undefined ? {} : { service }),
        ...(options.serviceHosts === undefined ? {} : { serviceHosts: options.serviceHosts }),
        ...(oauth === undefined ? {} : { oauth }),
        ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
        ...(options.webhookPublicUrl === undefined ? {} : { webhookPublicUrl: options.webhookPublicUrl }),
        redisUrl: options.redisUrl,
        ...(options.handlers === undefined ? {} : { handlers: options.handlers }),
        ...(options.webhookSecret === undefined ? {} : { webhookSecret: options.webhookSecret }),
      });
    let connector = await create(options);
    let isRestarting = false;
    opened.add(() => connector.close());
    if (options.sharesPort === true) await connector.untilAccepted();
    const server = await startHttpServer({
      app: (request, response) =>
        isRestarting ? answerRestarting(response) : connector.app(request, response),
      limits: HTTP_LIMITS,
      trustedProxies: options.trustedProxies,
      host: options.host,
      port: options.port,
      portSetting: options.portSetting ?? 'CONNECTOR_PORT',
      onDrain: () => connector.endStreams(),
      clock,
      logger,
    });
    opened.add(() => server.drain(options.drainMs));
    options.onListening?.(server.url);
    await connector.start();
    async function startAgain(service: ServiceOfConnector): Promise<void> {
      connector = await create(service);
      isRestarting = false;
      await connector.start();
    }

    return {
      url: server.url,
      database,
      untilReady: () => connector.untilReady(),
      settle: () => connector.settle(),
      async restart(work) {
        isRestarting = true;
        connector.endStreams();
        await connector.close();
        let next: ServiceOfConnector;
        try {
          next = await work();
        } catch (error) {
          await startAgain(options).catch((err: unknown) =>
            logger.error({ err }, 'the connector could not be started again'),
          );
          throw error;
        }
        await startAgain(next);
      },
      close: opened.close,
    };
  });
}

/** While the connector restarts, its data may be incomplete. */
function answerRestarting(response: ServerResponse): void {
  const message = 'The connector is restarting; retry after `Retry-After`.';
  response.writeHead(CONNECTOR_ERRORS.unavailable.status, {
    'Content-Type': 'application/json',
    'Retry-After': '1',
  });
  response.end(`${JSON.stringify({ error: 'unavailable', message })}\n`);
}

/** The names that requests to a loopback address may use. A proxy may use any name. */
function hostsOf({ host, trustedProxies, webhookPublicUrl, oauth }: RunConnectorOptions): {
  hosts?: readonly string[];
} {
  if (!isLoopbackAddress(host) || trustedProxies !== undefined) return {};
  const publicUrls = [webhookPublicUrl, oauth?.publicUrl].filter((url) => url !== undefined);
  return { hosts: publicUrls.map((url) => new URL(url).hostname) };
}
