import { z } from 'zod';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import type { Platform } from '../platform/platform.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { toIso } from '../runtime/clock/iso-time.ts';
import type { Queryable } from '../runtime/database/database.ts';
import type { ForwardTarget } from '../runtime/http-server/forward.ts';
import type { AllowedHosts } from '../runtime/http-server/local-only.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { createTurns, type Turns } from '../runtime/turns/turns.ts';
import { createSandboxApp, SANDBOX_PREFIX } from './app.ts';
import { type ConnectorAppAddresses, ensureConnectorApp } from './connector-app.ts';
import { SandboxError } from './control/sandbox-error.ts';
import { controlDeliveries } from './deliveries/control-deliveries.ts';
import { accessEndpoints } from './endpoints/access-endpoints.ts';
import { callEndpoints } from './endpoints/call-endpoints.ts';
import { clockEndpoints } from './endpoints/clock-endpoints.ts';
import { conditionEndpoints, conditionLists } from './endpoints/condition-endpoints.ts';
import { deliveryEndpoints, presentDelivery } from './endpoints/delivery-endpoints.ts';
import { faultEndpoints } from './endpoints/fault-endpoints.ts';
import { hostEndpoints } from './endpoints/host-endpoints.ts';
import { oauthEndpoints } from './endpoints/oauth-endpoints.ts';
import { outageEndpoints } from './endpoints/outage-endpoints.ts';
import { pairingEndpoints } from './endpoints/pairing-endpoints.ts';
import { peopleEndpoints } from './endpoints/people-endpoints.ts';
import { type Snapshots, snapshotEndpoints } from './endpoints/snapshot-endpoints.ts';
import { followService } from './follow-service.ts';
import { createFlightRecorder } from './recorder/flight-recorder.ts';
import { recordCalls } from './recorder/record-calls.ts';
import type { SandboxPorts } from './sandbox-ports.ts';
import { createSeed, renewTrial, type SandboxSeed, sandboxSeed } from './seed.ts';
import { ensureSelfCheckNumber } from './self-check-number.ts';
import { createServiceKeys } from './service-keys.ts';
import { storeValue } from './state-store.ts';

/** The addresses of all parts. They are read on each use, because free ports are known only after listening. */
export type SandboxAddresses = Pick<
  SandboxInfo,
  'baseUrl' | 'legacyBaseUrl' | 'authUrl' | 'mcpUrl' | 'sandboxUrl' | 'connectorUrl' | 'webhookUrl'
>;

export interface AttachedConnector {
  /** Token of its API. */
  readonly token: string;
  /**
   * Stops it, resets the service by `resetService`, deletes its data, and starts it again with the new key: a call with
   * the old one would be refused.
   */
  reset(resetService: () => Promise<void>): Promise<void>;
}

export interface SandboxOptions {
  readonly platform: Platform;
  readonly ports: SandboxPorts;
  /** The database of the platform, in which the sandbox stores its seed and tunnels. */
  readonly database: Queryable;
  readonly logger: Logger;
  /** The system clock, for streams. */
  readonly clock: Clock;
  readonly addresses: () => SandboxAddresses;
  readonly connector?: AttachedConnector;
  /** If absent, the sandbox has no snapshots. */
  readonly snapshots?: Snapshots;
  /** For what replaces all data, one after the other: those of a sandbox before this one as well. */
  readonly turns?: Turns;
  /** Whether it starts on the data of a snapshot, which stay as they were saved. */
  readonly restored?: boolean;
  /** Called after each reset, with the new key. */
  readonly onReset?: (info: SandboxInfo) => void;
  /** Where this process reaches `baseUrl`. Default: there. */
  readonly serviceTarget?: () => string;
  /** Whether the sandbox works, for probes. */
  readonly isHealthy?: () => Promise<boolean>;
  /** Names that the control API accepts besides this machine's own. */
  readonly allowedHosts?: AllowedHosts | undefined;
  /** What has happened since the last reset as a scenario. If absent, the console cannot save it. */
  readonly scenario?: () => Promise<string>;
}

const SUPERSEDED = 'A snapshot was restored, or the sandbox stops: reset again.';

const tunnels = z.array(z.object({ host: z.string(), target: z.string() }));

export type Sandbox = Awaited<ReturnType<typeof createSandbox>>;

/**
 * Creates the sandbox, which controls what no client of the service can: people, phones, time and faults. It has the
 * seed and the tunnels of an earlier start, or new ones.
 */
export async function createSandbox(options: SandboxOptions) {
  const { platform, ports, database, connector } = options;
  const storedSeed = storeValue(database, 'seed', sandboxSeed);
  const storedTunnels = storeValue(database, 'tunnels', tunnels);
  /** Set during a reset, so that the next start completes an interrupted one. */
  const emptying = storeValue(database, 'emptying', z.literal(true));

  const plant = async (): Promise<SandboxSeed> => {
    const planted = await createSeed(platform);
    await storedSeed.save(planted);
    return planted;
  };

  const control = controlDeliveries({
    delivery: platform.delivery,
    webhooks: platform.webhooks,
    database,
    secrets: ports.secrets,
    clock: options.clock,
    onChange: (record) => ports.events.publish(() => ({ type: 'delivery', entry: presentDelivery(record) })),
  });

  const attached =
    connector &&
    ((): ForwardTarget | null => {
      const { connectorUrl: url } = options.addresses();
      return url === null ? null : { url, token: connector.token };
    });

  const { clock, logger } = options;
  const followed = followService({ platform, ports, clock, logger, connector: attached });

  const saveTunnels = (): Promise<void> => storedTunnels.save(ports.hosts.list());

  const recorder = createFlightRecorder(() => platform.time.now());
  const beginRecording = (complete: boolean): void =>
    recorder.restart({ complete, frozen: platform.time.frozen, sendScale: platform.timing.sendScale });
  const recorded = recordCalls({ recorder, now: () => platform.time.now() });

  const serviceKeys = createServiceKeys({ platform, database });

  const emptyAndPlant = async (): Promise<SandboxSeed> => {
    await emptying.save(true);
    await platform.reset();
    ports.faults.reset();
    ports.secrets.clear();
    followed.reset();
    await saveTunnels();
    await serviceKeys.forget();
    const planted = await plant();
    await emptying.forget();
    return planted;
  };

  const stored = (await emptying.load()) === null ? await storedSeed.load() : await emptyAndPlant();
  let seed = stored ?? (await plant());
  if (options.restored !== true) await renewTrial({ platform, database }, seed);
  ports.seeded(seed.workspaceId);
  beginRecording(stored === null);
  for (const tunnel of (await storedTunnels.load()) ?? []) {
    try {
      ports.hosts.put(tunnel.host, tunnel.target);
    } catch (error) {
      // The allowed targets may differ at each start.
      options.logger.warn({ err: error, ...tunnel }, 'a tunnel of an earlier start is no longer allowed');
    }
  }

  const info = (): SandboxInfo => ({
    ...options.addresses(),
    connectorToken: connector?.token ?? null,
    workspaceId: seed.workspaceId,
    apiKey: seed.apiKey,
    selfCheckWorkspaceId: ports.hidden().at(-1) ?? null,
    now: toIso(platform.time.now()),
  });

  const resetOnce = async (): Promise<SandboxInfo> => {
    // Another sandbox has taken the place of this one, and shares its database.
    if (ending.signal.aborted) throw new SandboxError('wrong_state', SUPERSEDED);
    ports.calls.clear();
    ports.hosts.clear();
    const resetService = async (): Promise<void> => {
      seed = await emptyAndPlant();
      ports.seeded(seed.workspaceId);
    };
    await (connector === undefined ? resetService() : connector.reset(resetService));
    beginRecording(true);
    options.onReset?.(info());
    return info();
  };

  const { turns = createTurns(1) } = options;
  const reset = (): Promise<SandboxInfo> => turns.run(resetOnce);

  const ending = new AbortController();
  const lists = {
    ...peopleEndpoints(platform),
    ...pairingEndpoints(platform, database),
    ...deliveryEndpoints(platform, control),
    ...callEndpoints(ports.calls),
  };

  return {
    /** Serves `/sandbox/v1`. */
    app: createSandboxApp({
      logger: options.logger,
      serviceUrl: () => options.addresses().baseUrl,
      serverUrl: () => new URL(SANDBOX_PREFIX, options.addresses().sandboxUrl).href,
      connector: () => attached?.() ?? null,
      serviceKey: (workspaceId = seed.workspaceId) =>
        workspaceId === seed.workspaceId ? seed.apiKey : serviceKeys.find(workspaceId),
      serviceTarget: options.serviceTarget,
      isHealthy: options.isHealthy,
      allowedHosts: options.allowedHosts,
      scenario: options.scenario,
      handlers: {
        getInfo: info,
        reset,
        readRecording: () => ({ ...recorder.read(), hiddenWorkspaceIds: [...ports.hidden()] }),
        ...clockEndpoints(platform),
        ...faultEndpoints(platform, ports.faults),
        ...accessEndpoints(platform),
        ...oauthEndpoints(platform),
        ...lists,
        ...outageEndpoints(platform),
        ...hostEndpoints(ports.hosts, saveTunnels),
        ...(options.snapshots === undefined ? {} : snapshotEndpoints(options.snapshots, turns)),
        ...conditionEndpoints({
          lists: conditionLists(lists),
          events: ports.events,
          clock,
          ending: ending.signal,
        }),
      },
      streamEvents: followed.streams.handle,
      watch(name, request) {
        const record = recorded.watch(name, request);
        return (answer) => {
          record(answer);
          followed.served(name);
        };
      },
      watchForward: recorded.watchForward,
    }),
    /** The initial data of the service; new after each reset. */
    get seed() {
      return seed;
    },
    info,
    /** See `ensureConnectorApp`. A new one after each reset. */
    connectorApp: (addresses: ConnectorAppAddresses) => ensureConnectorApp({ platform, database }, addresses),
    /** A number only for the self-check; a new one after each reset. Its workspace is hidden from users. */
    async selfCheckNumber() {
      const number = await ensureSelfCheckNumber({ platform, database });
      ports.hide(number.workspaceId);
      return number;
    },
    /** Restores the seeded state, with new ids, and keeps the time. Concurrent calls are serialized. */
    reset,
    /** Keeps what comes from outside, for `GET /recording`. */
    recorder,
    /** Ends present and future streams and waits, so that a server can drain. */
    endStreams(): void {
      ending.abort();
      followed.streams.end();
    },
  };
}
