import { z } from 'zod';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import { LIMITS } from '../contract/service/limits.ts';
import { PlatformAlreadyRuns } from '../platform/db/process-lease.ts';
import { createPlatform } from '../platform/platform.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { openDatabase } from '../runtime/database/database.ts';
import { type HttpServer, startHttpServer } from '../runtime/http-server/http-server.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { type AttachedConnector, createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { createSandboxPorts } from '../sandbox/sandbox-ports.ts';
import { type StoredValue, storeValue } from '../sandbox/state-store.ts';
import type { ServicePorts } from './ports.ts';
import { migrateSchema } from './server-database.ts';

/** The public host under which the service reaches the attached connector. It leads nowhere else. */
const CONNECTOR_HOST = 'connector.example.com';

/**
 * A file of 16 MB may take its time on a slow line, and clients wait as long for a send. Where many come in at once,
 * a process that gets little processor reads the headers of the others late.
 */
const API_LIMITS = { headersTimeoutMs: 30_000, requestTimeoutMs: LIMITS.sendClientTimeoutMs };

export interface RunServiceOptions {
  readonly databaseUrl: string;
  readonly ports: ServicePorts;
  /** The pace of sends: 1 is real, 0 none. */
  readonly sendScale: number;
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Given to the connector's subscription in place of a random one. */
  readonly webhookSecret?: string | undefined;
  /** Addresses, CIDR ranges and host names besides this machine that tunnels may lead to. */
  readonly tunnelTargets?: readonly string[] | undefined;
  /** Absent: no connector is attached. */
  readonly connector?: AttachedConnector | undefined;
  /** How another start gets data of its own, for the message when this data is in use. */
  readonly ownData?: string | undefined;
  /** Called after each reset: the key is another one then. */
  readonly onReset?: ((info: SandboxInfo) => void) | undefined;
  /** Called when another process took the database over; this one must end. */
  readonly onTakenOver: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a connector has stored, by the name of its feed, and the workspace of the service that it is about. */
const connectorData = z.object({ feedId: z.string(), workspaceId: z.string() });

/** The service and its sandbox, listening. */
export interface RunningService {
  readonly sandbox: Sandbox;
  /** The data of the connector that was attached last. A reset without that connector leaves it behind. */
  readonly connectorData: StoredValue<z.infer<typeof connectorData>>;
  /** Where webhooks of the attached connector are sent to. */
  readonly webhookUrl: string;
  /** Attaches a connector that listens at `url`: the tunnel leads to it. */
  attach(url: string): void;
  /** Has a public host lead to `url`, as long as the service runs. */
  tunnel(host: string, url: string): void;
  /** Runs all that is due on both clocks until no request is open. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the service with its REST API on two listeners and its sandbox on a third.
 * @throws what its parts throw; everything that was opened is closed again.
 */
export async function runService(options: RunServiceOptions): Promise<RunningService> {
  const { databaseUrl, clock, logger } = options;
  const webhookUrl = `https://${CONNECTOR_HOST}/webhooks/messaging`;
  const servers: Partial<Record<keyof ServicePorts, HttpServer>> = {};
  let connectorUrl: string | null = null;
  const urlOf = (name: keyof ServicePorts): string => servers[name]?.url ?? 'http://127.0.0.1';
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (let step = closers.pop(); step !== undefined; step = closers.pop()) await step();
  };
  const listen = async (
    name: keyof ServicePorts,
    app: Parameters<typeof startHttpServer>[0]['app'],
    more: Pick<Parameters<typeof startHttpServer>[0], 'onDrain' | 'limits'>,
  ) => {
    const server = await startHttpServer({
      ...more,
      app,
      host: '127.0.0.1',
      port: options.ports[name],
      portSetting: '--port-base',
      clock,
      logger,
    });
    servers[name] = server;
    closers.push(() => server.drain());
  };
  try {
    await migrateSchema('platform', { url: databaseUrl, clock, logger });
    const database = openDatabase({ url: databaseUrl, name: 'platform', clock, logger });
    closers.push(() => database.close());
    const ports = createSandboxPorts({
      ...(options.webhookSecret === undefined ? {} : { webhookSecret: options.webhookSecret }),
      ...(options.tunnelTargets === undefined ? {} : { tunnelTargets: options.tunnelTargets }),
    });
    const listensAt = storeValue(database, 'listens_at', z.url());
    const platform = await createPlatform({
      database,
      systemClock: clock,
      logger,
      baseUrls: () => ({
        api: `${urlOf('platform')}/api/v1`,
        legacyApi: `${urlOf('legacy')}/api/v1`,
        auth: urlOf('platform'),
      }),
      sendScale: options.sendScale,
      ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies }),
      ports: ports.platform,
      onTakenOver: options.onTakenOver,
    }).catch(async (error: unknown) => {
      throw error instanceof PlatformAlreadyRuns
        ? await explainSecondStart(error, await listensAt.load(), options.ownData)
        : error;
    });
    closers.push(() => platform.close());
    const sandbox = await createSandbox({
      platform,
      ports,
      database,
      logger,
      clock,
      addresses: () => ({
        baseUrl: `${urlOf('platform')}/api/v1`,
        legacyBaseUrl: `${urlOf('legacy')}/api/v1`,
        authUrl: urlOf('platform'),
        mcpUrl: `${urlOf('platform')}/api/mcp`,
        sandboxUrl: urlOf('sandbox'),
        connectorUrl,
        webhookUrl: options.connector === undefined ? null : webhookUrl,
      }),
      ...(options.connector === undefined ? {} : { connector: options.connector }),
      ...(options.onReset === undefined ? {} : { onReset: options.onReset }),
    });
    await listen('platform', platform.app, { limits: API_LIMITS, onDrain: () => platform.endWaits() });
    await listen('legacy', platform.legacyApp, { limits: API_LIMITS });
    await listen('sandbox', sandbox.app, { onDrain: () => sandbox.endStreams() });
    await listensAt.save(urlOf('sandbox'));
    return {
      sandbox,
      connectorData: storeValue(database, 'connector_data', connectorData),
      webhookUrl,
      attach(url) {
        connectorUrl = url;
        ports.hosts.pin(CONNECTOR_HOST, url);
      },
      tunnel: (host, url) => ports.hosts.pin(host, url),
      settle: () => platform.settle(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const SECOND_START_MS = 2_000;

/** Whoever starts twice on the same data mostly wants to know where the first one is. */
async function explainSecondStart(
  error: PlatformAlreadyRuns,
  sandboxUrl: string | null,
  ownData = 'PLATFORM_DATABASE_URL and other ports.',
): Promise<Error> {
  if (sandboxUrl === null) return error;
  try {
    const signal = AbortSignal.timeout(SECOND_START_MS);
    const { ok } = await fetch(`${sandboxUrl}/sandbox/v1/info`, { signal });
    if (!ok) return error;
  } catch {
    return error;
  }
  return new Error(
    `It runs already on this data, as process ${error.pid}: ${sandboxUrl}/sandbox/v1/info has its addresses and its key.\n` +
      `Use that one, or stop it. To run another one beside it, give it data and ports of its own: ${ownData}`,
  );
}
