import { afterAll, beforeAll } from 'vitest';
import type { WebhookEvent } from '../../../src/contract/service/events.ts';
import { clearWebhookTables } from '../../../src/platform/webhooks/clear-tables.ts';
import {
  createWebhookConfiguration,
  type WebhookConfiguration,
} from '../../../src/platform/webhooks/configuration.ts';
import {
  createDelivery,
  type Delivery,
  type DeliveryOptions,
} from '../../../src/platform/webhooks/delivery.ts';
import { type NewEvent, type RecordedEvent, recordEvents } from '../../../src/platform/webhooks/ledger.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createTestDatabase } from '../../support/database.ts';
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

/** Webhooks on an empty database, with a clock that a test moves and tunnels that it sets. */
export interface WebhookFixture {
  readonly database: Database;
  readonly clock: WatchedClock;
  readonly tunnels: Map<string, string>;
  readonly configuration: WebhookConfiguration;
  readonly delivery: Delivery;
  /** Commits events and hands them to delivery. */
  emit(...events: readonly NewEvent[]): Promise<RecordedEvent[]>;
  /** Another delivery over the same database, as after a restart. */
  restart(): Promise<Delivery>;
  close(): Promise<void>;
}

export const silent = createLogger({ level: 'silent', name: 'test' });

let shared: Database | undefined;

/** One database for the tests of a file; each fixture finds it empty. */
export function shareDatabase(): void {
  let drop: () => Promise<void> = async () => undefined;
  beforeAll(async () => {
    const made = await createTestDatabase({ platform: true });
    drop = made.drop;
    shared = openDatabase({ url: made.url, name: 'test', poolSize: 4, clock: systemClock, logger: silent });
  });
  afterAll(async () => {
    await shared?.close();
    await drop();
  });
}

export async function createWebhookFixture(options: Partial<DeliveryOptions> = {}): Promise<WebhookFixture> {
  if (shared === undefined) throw new Error('call shareDatabase() in the file first');
  const database = shared;
  await clearWebhookTables(database);
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
  return {
    database,
    clock,
    tunnels,
    configuration,
    delivery,
    async emit(...events) {
      const recorded = await database.transaction((tx) => recordEvents(tx, events));
      delivery.deliver(recorded);
      return recorded;
    },
    restart: create,
    async close() {
      for (const one of made) await one.close();
    },
  };
}
