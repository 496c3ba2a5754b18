import type express from 'express';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { type Connections, createConnections } from './connections/connections.ts';
import { createWorkspaces, type Workspaces } from './connections/workspaces.ts';
import { type ApiKeys, createApiKeys } from './credentials/api-keys.ts';
import { clearTables } from './db/clear-tables.ts';
import { takeProcessLease } from './db/process-lease.ts';
import { createLicences, type Licences } from './licensing/licences.ts';
import { createMessages, type Messages, networkReports } from './messages/messages.ts';
import { createPageCursors } from './messages/page-cursor.ts';
import { createSender } from './messages/send-messages.ts';
import type { SendTiming } from './messages/send-timing.ts';
import { type Contacts, createContacts } from './network/contacts.ts';
import { createSimulatedNetwork, networkTimers } from './network/simulated-network.ts';
import type { ApiFaults } from './rest/api-faults.ts';
import { noApiFaults } from './rest/api-faults.ts';
import { createApp } from './rest/app.ts';
import { NEUTRAL_PICTURE_PATH } from './rest/neutral-picture.ts';
import { createRoutes } from './rest/routes.ts';
import { createCallServer } from './rest/serve-calls.ts';
import { seededRandom } from './seeded-random.ts';
import { createCommit } from './state-change.ts';
import { createDomainClock } from './time/domain-clock.ts';
import { loadServiceState } from './time/service-state.ts';
import { createTimerRunner } from './time/timer-runner.ts';
import { createVirtualTime, type VirtualTime } from './time/virtual-time.ts';
import { createWriteGate } from './time/write-gate.ts';
import {
  createWebhookConfiguration,
  type WebhookConfiguration,
  type WebhookSecrets,
} from './webhooks/configuration.ts';
import { createDelivery, type Delivery, type TunnelHosts, type WebhookFaults } from './webhooks/delivery.ts';
import type { HostLookup } from './webhooks/host-lookup.ts';
import { createLedger, type Ledger, recordEvents } from './webhooks/ledger.ts';
import { noTunnels } from './webhooks/tunnel-hosts.ts';
import { noFaults } from './webhooks/webhook-faults.ts';

/** Where the service is reached; read on each use, since a free port is known only after listening. */
export interface BaseUrls {
  /** `{base_url}`, with `/api/v1`. */
  readonly api: string;
  readonly legacyApi: string;
  readonly auth: string;
}

/** What the sandbox hands over. Each is absent in a service that nobody plays with. */
export interface PlatformPorts {
  readonly webhookFaults?: WebhookFaults;
  readonly apiFaults?: ApiFaults;
  readonly hosts?: TunnelHosts;
  /** Resolves the names of receivers; default: the system. */
  readonly lookup?: HostLookup;
  /** Issues signing secrets in place of random ones. */
  readonly webhookSecrets?: WebhookSecrets;
  /** Draws in [0, 1). */
  readonly random?: () => number;
}

export interface PlatformOptions {
  /** Migrated; stays open when the platform closes. */
  readonly database: Database;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  /** The pace of sends at start and after a reset. 1 is real, 0 none. */
  readonly sendScale: number;
  readonly ports?: PlatformPorts;
  /** Called when another process took over the database; this one must end. */
  readonly onTakenOver?: () => void;
}

/** The service. `app` is what its clients see; the rest is for the hand that moves people, phones and time. */
export interface Platform {
  /** Serves `/api/v1`; every listener that mounts it serves the identical API. */
  readonly app: express.Express;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly connections: Connections;
  readonly licences: Licences;
  readonly messages: Messages;
  readonly timing: SendTiming;
  readonly contacts: Contacts;
  readonly time: VirtualTime;
  readonly webhooks: WebhookConfiguration;
  readonly delivery: Delivery;
  /** Every event the service meant to deliver, in order. */
  readonly ledger: Ledger;
  /** Runs all that is due on both clocks until no request is open. */
  settle(): Promise<void>;
  /** Removes everything but time. New objects get new ids. */
  reset(): Promise<void>;
  /** Ends sends under way, deliveries and timers, and frees the database for another process. */
  close(): Promise<void>;
}

/** The seed of the service's own draws, where no port gives them. */
const SEED = 1;

/**
 * Starts the service on a migrated database: takes the process lease, loads time, ends what a crash left
 * under way. Throws `PlatformAlreadyRuns` when another process serves this database.
 */
export async function createPlatform(options: PlatformOptions): Promise<Platform> {
  const { systemClock, logger } = options;
  const lease = await takeProcessLease({
    database: options.database,
    clock: systemClock,
    logger,
    onLost: () => options.onTakenOver?.(),
  });
  try {
    return await composePlatform(options, lease.release);
  } catch (error) {
    await lease.release();
    throw error;
  }
}

async function composePlatform(options: PlatformOptions, release: () => Promise<void>): Promise<Platform> {
  const { database, systemClock, logger, ports = {} } = options;
  const { random = seededRandom(SEED), hosts = noTunnels } = ports;
  const lookup = ports.lookup === undefined ? {} : { lookup: ports.lookup };

  const state = await loadServiceState(database);
  const clock = createDomainClock(systemClock, state);
  const gate = createWriteGate();

  const webhooks = createWebhookConfiguration({
    database,
    hosts,
    clock: systemClock,
    ...lookup,
    ...(ports.webhookSecrets === undefined ? {} : { secrets: ports.webhookSecrets }),
  });
  const delivery = createDelivery({
    database,
    clock: systemClock,
    logger,
    configuration: webhooks,
    faults: ports.webhookFaults ?? noFaults,
    hosts,
    ...lookup,
  });

  const commit = createCommit({
    database,
    clock,
    record: recordEvents,
    deliver: (events) => delivery.deliver(events),
    arm: (dueAt) => runner.arm(dueAt),
  });
  const changeState: typeof commit = (work) => gate.shared(() => commit(work));
  const runner = createTimerRunner({
    database,
    clock,
    systemClock,
    gate,
    commit,
    logger,
    handlers: networkTimers(networkReports),
  });
  const network = createSimulatedNetwork({ database, clock, random });
  const sender = createSender({
    database,
    changeState,
    gate,
    clock,
    systemClock,
    network,
    logger,
    random,
    sendScale: options.sendScale,
  });
  const calls = createCallServer({
    database,
    systemClock,
    logger,
    faults: ports.apiFaults ?? noApiFaults,
    endpoints: createRoutes({
      database,
      clock,
      cursors: createPageCursors(state.cursorKey),
      sender,
      webhooks,
      neutralPicture: () => new URL(NEUTRAL_PICTURE_PATH, options.baseUrls().api).href,
    }),
  });

  await webhooks.load();
  await delivery.start();
  await sender.recover();
  await runner.rearm();

  return {
    app: createApp(calls),
    workspaces: createWorkspaces(changeState),
    apiKeys: createApiKeys(changeState),
    connections: createConnections(changeState),
    licences: createLicences(changeState),
    messages: createMessages(changeState),
    timing: sender.timing,
    contacts: createContacts(database, changeState),
    time: createVirtualTime({ database, clock, gate, runner }),
    webhooks,
    delivery,
    ledger: createLedger({ database }),

    async settle() {
      for (;;) {
        await calls.idle();
        const fired = await runner.fireDue();
        await delivery.settle();
        if (fired.length === 0 && calls.open === 0) return;
      }
    },

    async reset() {
      await sender.abandon();
      await gate.exclusive(async () => {
        await clearTables(database);
        await delivery.reset();
        await runner.rearm();
      });
      sender.timing.reset();
    },

    async close() {
      await runner.close();
      await sender.abandon();
      await calls.idle();
      await delivery.close();
      await release();
    },
  };
}
