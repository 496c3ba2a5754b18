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

/**
 * The public host under which the service reaches the attached connector. It exists only inside the
 * simulation.
 */
const CONNECTOR_HOST = 'connector.example.com';

/**
 * A file of 16 MB takes time on a slow line, and clients wait as long for a send. If many arrive at once, a
 * process with little CPU time reads the headers of the others late.
 */
const API_LIMITS = { headersTimeoutMs: 30_000, requestTimeoutMs: LIMITS.sendClientTimeoutMs };

export interface RunServiceOptions {
  readonly databaseUrl: string;
  readonly ports: ServicePorts;
  /** Scale of the send latency: 1 is real, 0 is none. */
  readonly sendScale: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The secret of the connector's subscription; generated if absent. */
  readonly webhookSecret?: string | undefined;
  /** Addresses, CIDR ranges and host names that tunnels may target, besides this machine. */
  readonly tunnelTargets?: readonly string[] | undefined;
  /** If absent, no connector is attached. */
  readonly connector?: AttachedConnector | undefined;
  /** How to start with other data, for the message printed when this data is in use. */
  readonly ownData?: string | undefined;
  /** Called after each reset, which creates a new key. */
  readonly onReset?: ((info: SandboxInfo) => void) | undefined;
  /** Called when another process has taken over the database; this process must exit. */
  readonly onTakenOver: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The data of a connector, identified by its feed, and the workspace of the service that it belongs to. */
const connectorData = z.object({ feedId: z.string(), workspaceId: z.string() });

/** The running service and its sandbox. */
export interface RunningService {
  readonly sandbox: Sandbox;
  /** The data of the most recently attached connector. A reset without that connector leaves the data unchanged. */
  readonly connectorData: StoredValue<z.infer<typeof connectorData>>;
  /** The URL that webhooks for the attached connector are sent to. */
  readonly webhookUrl: string;
  /** Attaches a connector that listens at `url`, and opens a tunnel to it. */
  attach(url: string): void;
  /** Opens a tunnel from a public host to `url`, for as long as the service runs. */
  tunnel(host: string, url: string): void;
  /** Runs everything that is due on both clocks until no request is in flight. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the service with its REST API on two servers and its sandbox on a third.
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

/** Somebody who starts twice on the same data usually wants to know where the first process is. */
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
    `A process is already running on this data (pid ${error.pid}): ${sandboxUrl}/sandbox/v1/info returns its addresses and its key.\n` +
      `Use that process, or stop it. To run a second one, give it its own data and ports: ${ownData}`,
  );
}
