import { webhookUrl } from '../connector/accounts/registrations.ts';
import { clearTables, TABLES_OF_PROCESSES } from '../connector/db/clear-tables.ts';
import { readPosition } from '../connector/feed/read-changes.ts';
import { appSubscriptionId, callbackUrl, type OauthApp } from '../connector/oauth/oauth-app.ts';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { type Database, openDatabase } from '../runtime/database/database.ts';
import { saveTables } from '../runtime/database/saved-tables.ts';
import { openParts } from '../runtime/lifecycle/open-parts.ts';
import type { LocalSecrets } from './local-secrets.ts';
import type { LoopPorts } from './ports.ts';
import {
  type RunConnectorOptions,
  type RunningConnector,
  runConnector,
  type ServiceOfConnector,
} from './run-connector.ts';
import { type RunServiceOptions, runService } from './run-service.ts';
import { checkLoop, type LeftOut, type SelfCheck } from './self-check.ts';
import { migrateSchema } from './server-database.ts';

/** Its tunnel stays open after the check, so that a late attempt needs no DNS lookup. */
const SELF_CHECK_HOST = 'self-check.example.com';

/** What its connector is given. */
type OfConnector =
  | 'redisUrl'
  | 'reconcileIntervalMs'
  | 'inboxRetentionDays'
  | 'changeRetentionDays'
  | 'messageRetentionDays'
  | 'historyDays'
  | 'handlers';

export interface LoopOptions
  extends Pick<RunConnectorOptions, OfConnector>,
    Omit<RunServiceOptions, 'databaseUrl' | 'ports' | 'host' | 'allowedHosts' | 'connector'> {
  readonly connectorDatabaseUrl: string;
  /** True if the loop created that database itself, so that outdated data in it may be removed. Default: false. */
  readonly ownsConnectorData?: boolean | undefined;
  readonly platformDatabaseUrl: string;
  readonly ports: LoopPorts;
  readonly secrets: LocalSecrets;
}

export type Loop = Awaited<ReturnType<typeof startLoop>>;

/**
 * Starts the whole loop in one process: network, service, sandbox and connector. `npm start` and the tests run this
 * same loop.
 * @throws what its parts throw; everything that was started is closed again.
 */
export async function startLoop(options: LoopOptions) {
  const { clock, logger, secrets } = options;
  let connector: RunningConnector | undefined;
  return await openParts(async (opened) => {
    const service = await runService({
      databaseUrl: options.platformDatabaseUrl,
      ports: options.ports,
      sendScale: options.sendScale,
      trustedProxies: options.trustedProxies,
      webhookSecret: options.webhookSecret,
      ownData: options.ownData,
      onReset: options.onReset,
      tunnelTargets: options.tunnelTargets,
      onTakenOver: options.onTakenOver,
      clock,
      logger: logger.child({ component: 'platform' }),
      connector: {
        token: secrets.connectorToken,
        settle: async () => connector?.settle(),
        save: () => saveTables(running().database, 'connector', TABLES_OF_PROCESSES),
        restore: (saved, work) =>
          restart(async ({ database }) => {
            // Each has its own schema, so neither waits for the other.
            const halves = await Promise.allSettled([work(), saved.restore(database)]);
            for (const half of halves) if (half.status === 'rejected') throw half.reason;
          }),
        async reset(resetService) {
          if (connector === undefined) {
            await resetService();
            // The start that is in progress follows.
            await migrateConnector();
            return await inConnectorData(options, clearTables);
          }
          await restart(async ({ database }) => {
            await resetService();
            await clearTables(database);
          });
          await saveOwner();
        },
      },
    });
    opened.add(() => service.close());
    opened.add(async () => connector?.close());

    function running(): RunningConnector {
      if (connector === undefined) throw new Error('the connector has not started yet');
      return connector;
    }

    /** Read at each start, because a reset of the sandbox creates another key. */
    async function findService(port: number): Promise<ServiceOfConnector> {
      const { baseUrl, apiKey } = service.sandbox.info();
      return { service: { baseUrl, apiKey }, oauth: await oauthApp(port) };
    }

    const migrateConnector = (): Promise<void> =>
      migrateSchema('connector', { url: options.connectorDatabaseUrl, clock, logger });

    /** Whose data the connector stores. */
    async function saveOwner(): Promise<void> {
      const { workspaceId } = service.sandbox.info();
      const { feedId } = await readPosition(running().database);
      await service.connectorData.save({ feedId, workspaceId });
    }

    /** Runs `work` while the connector is stopped. Its listener stays open: another process could take a free port. */
    async function restart(work: (stopped: RunningConnector) => Promise<void>): Promise<void> {
      const stopped = running();
      await stopped.restart(async () => {
        await work(stopped);
        return await findService(Number(new URL(stopped.url).port));
      });
    }

    async function start(): Promise<void> {
      const { connector: port } = options.ports;
      const { redisUrl, reconcileIntervalMs, historyDays, handlers } = options;
      const { inboxRetentionDays, changeRetentionDays, messageRetentionDays } = options;
      connector = await runConnector({
        databaseUrl: options.connectorDatabaseUrl,
        redisUrl,
        host: '127.0.0.1',
        port,
        portSetting: '--port-base',
        role: 'all',
        apiToken: secrets.connectorToken,
        sealingKeys: [secrets.sealingKey],
        ...(await findService(port)),
        webhookPublicUrl: service.webhookUrl,
        reconcileIntervalMs,
        inboxRetentionDays,
        changeRetentionDays,
        messageRetentionDays,
        historyDays,
        handlers,
        onListening: (url) => service.attach(url),
        clock,
        logger: logger.child({ component: 'connector' }),
      });
      await saveOwner();
    }

    /**
     * Removes what the connector of an earlier start has stored of a service that was reset since then.
     * The name of the feed shows that it was the connector of this loop.
     */
    async function removeOutdated(): Promise<boolean> {
      const last = await service.connectorData.load();
      const isOutdated = last !== null && last.workspaceId !== service.sandbox.info().workspaceId;
      if (options.ownsConnectorData !== true || !isOutdated) return false;
      await migrateConnector();
      const { feedId } = await inConnectorData(options, readPosition);
      if (feedId !== last.feedId) return false;
      await inConnectorData(options, clearTables);
      return true;
    }

    /** On a random free port the connector has no OAuth app: the redirect URI must be known in advance. */
    async function oauthApp(port: number): Promise<OauthApp | undefined> {
      if (options.ports.connector === 0) return undefined;
      const { baseUrl, authUrl } = service.sandbox.info();
      const publicUrl = `http://127.0.0.1:${port}`;
      // The tunnel of its webhook host is open before the address is checked.
      service.attach(publicUrl);
      const { clientId, clientSecret, webhookSecret } = await service.sandbox.connectorApp({
        redirectUri: callbackUrl({ publicUrl }),
        webhookUrl: (id) => webhookUrl(service.webhookUrl, appSubscriptionId({ authUrl, clientId: id })),
      });
      return { baseUrl, authUrl, publicUrl, clientId, clientSecret, webhookSecret };
    }

    /** Sends two messages through the loop, invisible to the connector's own feed and handlers. @throws Error */
    async function check(): Promise<SelfCheck | LeftOut> {
      const { sandboxUrl, baseUrl } = service.sandbox.info();
      const number = await service.sandbox.selfCheckNumber();
      const checking = {
        sandboxUrl,
        baseUrl,
        number,
        webhookUrl: `https://${SELF_CHECK_HOST}/webhooks/messaging`,
        tunnel: (url: string) => service.tunnel(SELF_CHECK_HOST, url),
        databaseUrl: options.connectorDatabaseUrl,
        clock,
        logger: logger.child({ component: 'self-check' }),
      };
      return service.sandbox.recorder.pausedFor(() => checkLoop(checking));
    }

    let emptied = false;
    try {
      emptied = await removeOutdated();
      await start();
    } catch (error) {
      throw explainOtherService(error, options);
    }
    return {
      info: () => service.sandbox.info(),
      /** True if this start removed the connector's data, because the service was reset while it was not running. */
      emptied,
      check,
      /** Resolves when both halves are idle. */
      settle: () => service.settle(),
      close: opened.close,
    };
  });
}

/** The key is the loop's own: if it matches no stored number, the data belongs to another service. */
function explainOtherService(error: unknown, options: LoopOptions): unknown {
  const isKey = error instanceof ConfigurationError && error.problems[0]?.setting === 'SERVICE_API_KEY';
  if (!isKey) return error;
  const { ownsConnectorData = false, ownData = 'separate databases.' } = options;
  const problem =
    'contains messages of another service, or of this one before it was reset, so none of its numbers exists here. ' +
    `To start over, remove ${ownsConnectorData ? 'the folder' : 'its schema connector'}. ` +
    `To keep them, use other data for the loop: ${ownData}`;
  return new ConfigurationError([{ setting: ownsConnectorData ? '--data-dir' : 'DATABASE_URL', problem }]);
}

async function inConnectorData<Result>(
  { connectorDatabaseUrl: url, clock, logger }: LoopOptions,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ url, name: 'loop', poolSize: 1, clock, logger });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
