import type { RequestListener } from 'node:http';
import { z } from 'zod';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import { LIMITS } from '../contract/service/limits.ts';
import { PlatformAlreadyRuns } from '../platform/db/process-lease.ts';
import { createPlatform, type Platform } from '../platform/platform.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { openDatabase } from '../runtime/database/database.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../runtime/http-server/http-server.ts';
import { openParts } from '../runtime/lifecycle/open-parts.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { createTurns } from '../runtime/turns/turns.ts';
import {
  type AttachedConnector,
  createSandbox,
  type Sandbox,
  type SandboxOptions,
} from '../sandbox/sandbox.ts';
import { createSandboxPorts, type SandboxPorts } from '../sandbox/sandbox-ports.ts';
import { storeValue } from '../sandbox/state-store.ts';
import { record } from '../scenario/replay.ts';
import { writeScenario } from '../scenario/scenario.ts';
import { callPortAt } from './call-sandbox.ts';
import { createSnapshots, type SavedConnector } from './keep-snapshots.ts';
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
  /** The address to listen on. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /**
   * Names in `Host` that service and sandbox accept besides those of this machine. Addresses that they give out contain
   * the first one. Default: on this machine only its own names.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Scale of the send latency: 1 is real, 0 is none. */
  readonly sendScale: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** The secret of the connector's subscription; generated if absent. */
  readonly webhookSecret?: string | undefined;
  /** Addresses, CIDR ranges and host names that tunnels may target, besides this machine. */
  readonly tunnelTargets?: readonly string[] | undefined;
  /** If absent, no connector is attached. */
  readonly connector?: (AttachedConnector & SavedConnector) | undefined;
  /** How to start with other data, for the message printed when this data is in use. */
  readonly ownData?: string | undefined;
  /** Called after each reset, which creates a new key. */
  readonly onReset?: ((info: SandboxInfo) => void) | undefined;
  /** Called when another process has taken over the database; this process must exit. */
  readonly onTakenOver: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOPBACK = '127.0.0.1';

/** The data of a connector, identified by its feed, and the workspace of the service that it belongs to. */
const connectorData = z.object({ feedId: z.string(), workspaceId: z.string() });

/** What a restore of a snapshot replaces. */
interface Parts {
  readonly platform: Platform;
  readonly sandbox: Sandbox;
  readonly ports: SandboxPorts;
}

export type RunningService = Awaited<ReturnType<typeof runService>>;

/**
 * Starts the service with its REST API on two servers and its sandbox on a third.
 * @throws what its parts throw; everything that was opened is closed again.
 */
export async function runService(options: RunServiceOptions) {
  const { databaseUrl, clock, logger } = options;
  const webhookUrl = `https://${CONNECTOR_HOST}/webhooks/messaging`;
  const servers: Partial<Record<keyof ServicePorts, HttpServer>> = {};
  let connectorUrl: string | null = null;
  const { host = LOOPBACK, allowedHosts } = options;
  /** Where this process reaches a server. */
  const localUrlOf = (name: keyof ServicePorts): string =>
    servers[name]?.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') ??
    `http://${LOOPBACK}`;
  /** Where clients reach a server. */
  const urlOf = (name: keyof ServicePorts): string => {
    const url = new URL(localUrlOf(name));
    if (allowedHosts?.[0] !== undefined) url.hostname = allowedHosts[0];
    return url.origin;
  };
  return await openParts(async (opened) => {
    /** Resolves once the parts run, for which requests wait while a snapshot is restored. */
    let started = Promise.resolve();
    const listen = async (
      name: keyof ServicePorts,
      app: () => RequestListener,
      more: Pick<HttpServerOptions, 'onDrain' | 'limits'>,
    ) => {
      const server = await startHttpServer({
        ...more,
        app: (request, response) => void started.then(() => app()(request, response)),
        host,
        port: options.ports[name],
        portSetting: '--port-base',
        clock,
        logger,
      });
      servers[name] = server;
      opened.add(() => server.drain());
    };
    await migrateSchema('platform', { url: databaseUrl, clock, logger });
    const database = openDatabase({ url: databaseUrl, name: 'platform', clock, logger });
    opened.add(() => database.close());
    const listensAt = storeValue(database, 'listens_at', z.url());
    /** Tunnels that every sandbox of this process has. */
    const pins = new Map<string, string>();

    const turns = createTurns(1);

    async function startParts({ restored }: Pick<SandboxOptions, 'restored'> = {}): Promise<Parts> {
      const ports = createSandboxPorts(options);
      for (const [host, url] of pins) ports.hosts.pin(host, url);
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
        ...(allowedHosts === undefined ? {} : { allowedHosts }),
        ports: ports.platform,
        onTakenOver: options.onTakenOver,
      });
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
        serviceTarget: () => `${localUrlOf('platform')}/api/v1`,
        isHealthy: () =>
          database.ping().then(
            () => true,
            () => false,
          ),
        allowedHosts: allowedHosts && { names: allowedHosts, setting: 'PLATFORM_ALLOWED_HOSTS' },
        snapshots,
        turns,
        ...(restored === undefined ? {} : { restored }),
        scenario: async () => writeScenario((await record(callPortAt(localUrlOf('sandbox')))).scenario),
        ...(options.connector === undefined ? {} : { connector: options.connector }),
        ...(options.onReset === undefined ? {} : { onReset: options.onReset }),
      }).catch(async (error: unknown) => {
        await platform.close();
        throw error;
      });
      return { platform, sandbox, ports };
    }

    /**
     * Runs everything that is due on both clocks until neither the service nor the connector has work in progress. Each
     * half may cause work in the other: a delivery calls a handler, and a send is delivered as an event.
     */
    async function settle(): Promise<void> {
      for (let before = -1, last = 0; before !== last; ) {
        before = last;
        await parts.platform.settle();
        await options.connector?.settle();
        last = await parts.platform.delivery.lastId();
      }
    }

    const snapshots = createSnapshots({
      database,
      parts: () => parts,
      settle,
      async restart(put) {
        const { promise, resolve } = Promise.withResolvers<void>();
        started = promise;
        try {
          parts.sandbox.endStreams();
          await parts.platform.close();
          await put().finally(async () => {
            parts = await startParts({ restored: true });
          });
        } finally {
          resolve();
        }
      },
      connector: options.connector,
      clock,
    });
    let parts = await startParts().catch(async (error: unknown) => {
      throw error instanceof PlatformAlreadyRuns
        ? await explainSecondStart(error, await listensAt.load(), options.ownData)
        : error;
    });
    opened.add(() => parts.platform.close());
    /** Opens a tunnel from a public host to `url`, for as long as the service runs. */
    const pin = (host: string, url: string): void => {
      pins.set(host, url);
      parts.ports.hosts.pin(host, url);
    };
    await listen('platform', () => parts.platform.app, { limits: API_LIMITS });
    await listen('legacy', () => parts.platform.legacyApp, { limits: API_LIMITS });
    await listen('sandbox', () => parts.sandbox.app, { onDrain: () => parts.sandbox.endStreams() });
    await listensAt.save(localUrlOf('sandbox'));
    return {
      /** Another one after a snapshot was restored. */
      get sandbox() {
        return parts.sandbox;
      },
      /** The data of the most recently attached connector. A reset without that connector leaves the data unchanged. */
      connectorData: storeValue(database, 'connector_data', connectorData),
      /** The URL that webhooks for the attached connector are sent to. */
      webhookUrl,
      /** Attaches a connector that listens at `url`, and opens a tunnel to it. */
      attach(url: string): void {
        connectorUrl = url;
        pin(CONNECTOR_HOST, url);
      },
      tunnel: pin,
      settle,
      close: opened.close,
    };
  });
}

const SECOND_START_MS = 2_000;

/** A second start on the same data is usually a mistake, so the error shows where the first process is. */
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
    `A process is already running on this data: ${sandboxUrl}/sandbox/v1/info returns its addresses and its key.\n` +
      `Use that process, or stop it. To run a second one, give it its own data and ports: ${ownData}`,
  );
}
