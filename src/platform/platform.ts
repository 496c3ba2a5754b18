import type express from 'express';
import { createApp } from './app.ts';
import { createCallShell } from './calls/call-shell.ts';
import { composeCore } from './compose-core.ts';
import { type Connections, createConnections } from './connections/connections.ts';
import { createOutages, type Outages } from './connections/health/outages.ts';
import { createOwnerPhones, type OwnerPhones } from './connections/pairing/owner-phones.ts';
import { type ApiKeys, createApiKeys } from './credentials/api-keys.ts';
import { clearTables } from './db/clear-tables.ts';
import { takeProcessLease } from './db/process-lease.ts';
import { ASSUMPTIONS } from './kernel/assumptions.ts';
import { createLicenses, type Licenses } from './licensing/licenses.ts';
import { startTools } from './mcp/start-tools.ts';
import { createMediaAddress } from './media/media-address.ts';
import { createMediaStore } from './media/media-store.ts';
import {
  createMessageControls,
  createNetworkReports,
  type MessageControls,
} from './messages/message-controls.ts';
import { createPageCursors } from './messages/page-cursor.ts';
import { createSender } from './messages/send-messages.ts';
import type { SendTiming } from './messages/send-timing.ts';
import { type Contacts, createContacts } from './network/contacts.ts';
import { type Oauth, startOauth } from './oauth/start-oauth.ts';
import type { PlatformOptions } from './platform-options.ts';
import { NEUTRAL_PICTURE_PATH } from './rest/neutral-picture.ts';
import { createRestRouter } from './rest/rest-router.ts';
import { createRoutes } from './rest/routes.ts';
import { serveMedia } from './rest/serve-media.ts';
import { seededRandom } from './seeded-random.ts';
import { loadServiceState } from './time/service-state.ts';
import { createVirtualTime, type VirtualTime } from './time/virtual-time.ts';
import { createVirtualWait } from './time/virtual-wait.ts';
import type { WebhookConfiguration } from './webhooks/configuration.ts';
import type { Delivery } from './webhooks/delivery.ts';
import { createLedger, type Ledger } from './webhooks/ledger.ts';
import { createWorkspaces, type Workspaces } from './workspaces/workspaces.ts';

export type { PlatformOptions, PlatformPorts } from './platform-options.ts';

/** The service. Clients use `app`; the sandbox uses the rest to control people, phones and time. */
export interface Platform {
  /** Serves `/api/v1`, the authorization server and the tool server. */
  readonly app: express.Express;
  /** Serves only the API, identically, for the legacy address. */
  readonly legacyApp: express.Express;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  /** OAuth apps, grants and portal approvals. */
  readonly oauth: Pick<Oauth, 'apps' | 'grants' | 'approvals'>;
  readonly connections: Connections;
  /** Outages of sessions, and the owners' phones. */
  readonly outages: Outages;
  readonly licenses: Licenses;
  readonly messages: MessageControls;
  readonly timing: SendTiming;
  readonly contacts: Contacts;
  /** The actions of owners that pair: scanning a QR code, typing a pairing code. */
  readonly ownerPhones: OwnerPhones;
  readonly time: VirtualTime;
  readonly webhooks: WebhookConfiguration;
  readonly delivery: Delivery;
  /** Every event that the service is to deliver, in order. */
  readonly ledger: Ledger;
  /** Runs everything that is due on both clocks until no request is in progress. */
  settle(): Promise<void>;
  /** Deletes everything except time. New objects get new ids. */
  reset(): Promise<void>;
  /** Ends sends in progress, deliveries and timers, and releases the database for another process. */
  close(): Promise<void>;
}

/** The seed of random draws if no port provides them. With this seed, the first sends are ordinary. */
const SEED = 2;

/**
 * Starts the service on a migrated database: acquires the process lease, loads time, and completes or ends the work
 * that a crash interrupted. Throws `PlatformAlreadyRuns` if another process serves this database.
 */
export async function createPlatform(options: PlatformOptions): Promise<Platform> {
  const { database, systemClock: clock, logger } = options;
  const onLost = (): void => options.onTakenOver?.();
  const release = await takeProcessLease({ database, clock, logger, onLost });
  try {
    return await startPlatform(options, release);
  } catch (error) {
    await release();
    throw error;
  }
}

async function startPlatform(options: PlatformOptions, release: () => Promise<void>): Promise<Platform> {
  const { database, systemClock, logger, ports = {} } = options;
  const random = ports.random ?? seededRandom(SEED);
  const state = await loadServiceState(database);
  const mediaAddress = createMediaAddress(options.baseUrls);
  const core = composeCore(options, state, createNetworkReports(mediaAddress), random);
  const { clock, gate, changeState, runner, network, webhooks, delivery } = core;
  const { sendScale, sendsPerMinute = ASSUMPTIONS.sendsPerMinute.value } = options;
  const mediaStore = createMediaStore({ database, clock, logger });
  const wait = createVirtualWait(clock, systemClock);
  const sender = createSender({
    database,
    changeState,
    clock,
    wait,
    network,
    random,
    sendScale,
    sendsPerMinute,
    isStored: ports.isStored,
  });
  const cursors = createPageCursors(state.cursorKey);
  const neutralPicture = (): string => new URL(NEUTRAL_PICTURE_PATH, options.baseUrls().api).href;
  const endpoints = createRoutes({
    database,
    changeState,
    clock,
    network,
    cursors,
    sender,
    webhooks,
    neutralPicture,
    mediaStore,
    mediaAddress,
  });
  const { aroundCall, onCall, portal } = ports;
  const { baseUrls } = options;
  const oauth = await startOauth({
    database,
    changeState,
    clock,
    baseUrls,
    webhooks,
    portal,
  });
  const sources = { database, clock, tokens: oauth.tokens };
  const shell = createCallShell({ ...sources, systemClock, logger, onCall, aroundCall });
  const tools = startTools({
    ...sources,
    shell,
    logger,
    baseUrls,
    sender,
    cursors,
    mediaAddress,
    neutralPicture,
  });
  const served = {
    rest: createRestRouter({ shell, sources, endpoints }),
    media: serveMedia(mediaStore, logger),
    trustedProxies: options.trustedProxies ?? [],
    allowedHosts: options.allowedHosts,
    ownUrl: () => baseUrls().api,
  };

  try {
    await webhooks.load();
    await delivery.start();
    await mediaStore.cleanUp();
    await runner.rearm();
  } catch (error) {
    await runner.close();
    await delivery.close();
    throw error;
  }

  return {
    app: createApp({ ...served, auth: [oauth.router(shell), tools.router] }),
    legacyApp: createApp(served), // [versioning.legacy]
    workspaces: createWorkspaces(changeState),
    apiKeys: createApiKeys(database, changeState),
    oauth,
    connections: createConnections(changeState, network.sessions),
    outages: createOutages({ changeState, sessions: network.sessions, random }),
    licenses: createLicenses(changeState),
    messages: createMessageControls({ database, changeState, network, mediaStore, mediaAddress }),
    timing: sender.timing,
    contacts: createContacts(database, changeState),
    ownerPhones: createOwnerPhones({ changeState, network }),
    time: createVirtualTime({ database, clock, gate, runner }),
    webhooks,
    delivery,
    ledger: createLedger({ database }),

    async settle() {
      for (;;) {
        // A send goes on when the client of its call has gone.
        await Promise.all([shell.idle(), sender.idle()]);
        const fired = await runner.fireDue();
        await delivery.settle();
        if (fired.length === 0 && shell.open === 0) return;
      }
    },

    async reset() {
      await gate.exclusive(async () => {
        sender.giveUp();
        await delivery.reset(() => clearTables(database));
        await runner.rearm();
      });
      sender.timing.reset();
    },

    async close() {
      await runner.close();
      sender.giveUp();
      await sender.idle();
      await shell.close();
      await tools.close();
      // What people do, and an advance, are over then.
      await gate.exclusive(() => delivery.close());
      await release();
    },
  };
}
