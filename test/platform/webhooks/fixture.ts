import type { WebhookEvent } from '../../../src/contract/service/events.ts';
import { clearTables } from '../../../src/platform/db/clear-tables.ts';
import {
  createWebhookConfiguration,
  type WebhookConfiguration,
} from '../../../src/platform/webhooks/configuration.ts';
import {
  createDelivery,
  type Delivery,
  type DeliveryOptions,
} from '../../../src/platform/webhooks/delivery.ts';
import { type NewEvent, recordEvents } from '../../../src/platform/webhooks/ledger.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { type OpenedDatabase, openTestDatabase } from '../../support/database.ts';
import { ofFile, ofTest } from '../../support/of-file.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

export const WORKSPACE = 'cworkspace000000000000001';
export const CONNECTION = 'cconnection00000000000001';
export const HOST = 'hooks.example.com';
export const HOOK = `https://${HOST}/webhooks/messaging?tag=1`;

/** A `message.received` with what a test varies. */
export function receivedEvent(id: string, text = 'hello', workspaceId = WORKSPACE): NewEvent {
  const payload: WebhookEvent = {
    event: 'message.received',
    connection_id: CONNECTION,
    message: {
      id,
      wa_id: null,
      from: '491700000001',
      text,
      media_url: null,
      media_type: null,
      timestamp: 1_800_000_000_000,
    },
  };
  return {
    workspaceId,
    connectionId: CONNECTION,
    messageId: id,
    event: 'message.received',
    status: null,
    payload,
    at: 1_800_000_000_000,
  };
}

/** Messages `cmessage0`, `cmessage1` and so on. */
export const receivedEvents = (count: number, workspace = WORKSPACE): NewEvent[] =>
  Array.from({ length: count }, (_, index) => receivedEvent(`cmessage${index}`, 'hello', workspace));

/** Webhooks on an empty database, with a clock that a test moves and tunnels that it sets. */
export interface WebhookFixture {
  readonly database: Database;
  readonly clock: WatchedClock;
  readonly tunnels: Map<string, string>;
  readonly configuration: WebhookConfiguration;
  readonly delivery: Delivery;
  /** Commits events, and starts their delivery. */
  emit(...events: readonly NewEvent[]): Promise<void>;
  /** The same, and ends when nothing is left to do at this time. */
  deliver(...events: readonly NewEvent[]): Promise<void>;
  /** Waits until something waits for `ms`, and lets them pass. */
  pass(ms: number): Promise<void>;
  /** The same, and ends when the attempts that were due then have ended. */
  retry(ms: number): Promise<void>;
  /** Another delivery over the same database, as after a restart. */
  restart(): Promise<Delivery>;
  close(): Promise<void>;
}

export const silent = createLogger({ level: 'silent', name: 'test' });

let shared: OpenedDatabase | undefined;

/** One database for the tests of a file; each fixture finds it empty. */
export function shareDatabase(): void {
  shared = ofFile(() => openTestDatabase({ platform: true }));
}

function theShared(): Database {
  if (shared === undefined) throw new Error('call shareDatabase() in the file first');
  return shared.database;
}

export async function createWebhookFixture(options: Partial<DeliveryOptions> = {}): Promise<WebhookFixture> {
  const database = theShared();
  await clearTables(database);
  const clock = new WatchedClock();
  const tunnels = new Map<string, string>();
  const hosts = { target: (host: string) => tunnels.get(host) };
  const lookup = () => Promise.reject(new Error('no names resolve here'));
  const configuration = createWebhookConfiguration({ database, hosts, clock, lookup });
  const made: Delivery[] = [];
  const create = async (): Promise<Delivery> => {
    const delivery = createDelivery({
      database,
      clock,
      logger: silent,
      configuration,
      hosts,
      lookup,
      ...options,
    });
    await delivery.start();
    made.push(delivery);
    return delivery;
  };
  await configuration.load();
  const delivery = await create();
  const emit: WebhookFixture['emit'] = async (...events) =>
    delivery.wake(await database.transaction((tx) => recordEvents(tx, events, clock.now())));
  return {
    database,
    clock,
    tunnels,
    configuration,
    delivery,
    emit,
    async deliver(...events) {
      await emit(...events);
      await delivery.settle();
    },
    pass: (ms) => clock.pass(ms),
    async retry(ms) {
      await clock.pass(ms);
      await delivery.settle();
    },
    restart: create,
    async close() {
      for (const one of made) await one.close();
    },
  };
}

/** A webhook of `WORKSPACE` that leads to a receiver. */
export interface Hooked {
  readonly fixture: WebhookFixture;
  readonly receiver: Receiver;
  readonly secret: string;
}

/** Makes one for each test of a file or block, on the file's database. */
export function useHook(options: (database: Database) => Partial<DeliveryOptions> = () => ({})): Hooked {
  return ofTest(
    async () => {
      const [fixture, receiver] = await Promise.all([
        createWebhookFixture(options(theShared())),
        startReceiver(),
      ]);
      fixture.tunnels.set(HOST, receiver.origin);
      const { secret } = await fixture.configuration.put(WORKSPACE, HOOK);
      return { fixture, receiver, secret };
    },
    async ({ fixture, receiver }) => {
      await fixture.close();
      await receiver.close();
    },
  );
}
