import type { WebhookEvent } from '../../../src/contract/service/events.ts';
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

/** Webhooks on a database of their own, with a clock that a test moves and tunnels that it sets. */
export interface WebhookFixture {
  readonly url: string;
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

export async function createWebhookFixture(options: Partial<DeliveryOptions> = {}): Promise<WebhookFixture> {
  const testDatabase = await createTestDatabase({ platform: true });
  const database = openDatabase({
    url: testDatabase.url,
    name: 'test',
    poolSize: 4,
    clock: systemClock,
    logger: silent,
  });
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
    url: testDatabase.url,
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
      await database.close();
      await testDatabase.drop();
    },
  };
}
