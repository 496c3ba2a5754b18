import type { ServerResponse } from 'node:http';
import { type Connector, type ConnectorOptions, createConnector } from '../connector/connector.ts';
import { readPosition } from '../connector/feed/read-changes.ts';
import { explainPath } from '../connector/inbox/webhook-path.ts';
import { CONNECTOR_ERRORS } from '../contract/connector/errors.ts';
import { type Database, openDatabase } from '../runtime/database/database.ts';
import { type HttpLimits, startHttpServer } from '../runtime/http-server/http-server.ts';
import { isLoopbackAddress } from '../runtime/http-server/loopback.ts';
import { openParts } from '../runtime/lifecycle/open-parts.ts';
import { openNotifier } from '../runtime/notifier/open-notifier.ts';
import { createKeyRing } from '../runtime/sealing/key-ring.ts';
import { migrateSchema } from './server-database.ts';

/** The service that a connector uses. */
export type ServiceOfConnector = Pick<ConnectorOptions, 'service' | 'oauth'>;

/** What `runConnector` makes itself. */
type Made = 'database' | 'receiverDatabase' | 'notifier' | 'keyRing' | 'hosts';

export interface RunConnectorOptions extends Omit<ConnectorOptions, Made> {
  readonly databaseUrl: string;
  readonly host: string;
  readonly port: number;
  readonly sealingKeys: readonly string[];
  /** Addresses and CIDR ranges of reverse proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[] | undefined;
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

export type RunningConnector = Awaited<ReturnType<typeof runConnector>>;

/**
 * Starts the work of one connector process: migrations, database, Redis and server, then polling, depending
 * on its role. The process may not be ready yet when this resolves: see `untilReady`.
 * @throws what its parts throw, and a `ConfigurationError` if the service rejects a setting; everything that
 * was opened is closed again.
 */
export async function runConnector(options: RunConnectorOptions) {
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
        ...options,
        service,
        oauth,
        database,
        receiverDatabase,
        notifier,
        keyRing: createKeyRing(options.sealingKeys),
        hosts: hostsOf(options),
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
      /** The connections that its work uses. */
      database,
      /** See `Connector.untilReady`. */
      untilReady: () => connector.untilReady(),
      /** Resolves when everything received has been processed. */
      settle: () => connector.settle(),
      /**
       * Stops the work, runs `work`, and starts again with the service that it resolves with, or with the one of the
       * start if it throws. The listener and the database connections stay open; requests are answered with 503.
       */
      async restart(work: () => Promise<ServiceOfConnector>): Promise<void> {
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
      /** Answers open requests, then stops. No accepted webhook is lost. */
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
function hostsOf(options: RunConnectorOptions): readonly string[] | undefined {
  const { host, trustedProxies, webhookPublicUrl, oauth } = options;
  if (!isLoopbackAddress(host) || trustedProxies !== undefined) return undefined;
  const publicUrls = [webhookPublicUrl, oauth?.publicUrl].filter((url) => url !== undefined);
  return publicUrls.map((url) => new URL(url).hostname);
}
