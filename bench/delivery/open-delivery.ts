import { fileURLToPath } from 'node:url';
import { createWebhookConfiguration } from '../../src/platform/webhooks/configuration.ts';
import { createDelivery, type Delivery, type DeliveryOptions } from '../../src/platform/webhooks/delivery.ts';
import { type NewEvent, type RecordedEvent, recordEvents } from '../../src/platform/webhooks/ledger.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { planEvent, serviceEvent } from '../ingest/service-events.ts';

/** Where the events of an account go: a path of a server on this machine. */
export interface BenchAccount {
  readonly workspaceId: string;
  readonly port: number;
  readonly path: string;
}

export interface OpenDeliveryOptions extends Pick<DeliveryOptions, 'limits' | 'onChange'> {
  /** An empty database. */
  readonly databaseUrl: string;
  readonly accounts: readonly BenchAccount[];
  readonly secret: string;
}

export interface OpenDelivery {
  readonly database: Database;
  readonly delivery: Delivery;
  close(): Promise<void>;
}

const RECORD_BATCH = 1000;
const clock = systemClock;
const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });

/** The delivery of the service, with accounts whose webhooks lead to this machine. */
export async function openDelivery(options: OpenDeliveryOptions): Promise<OpenDelivery> {
  const { databaseUrl, accounts, secret, limits = {}, onChange } = options;
  const folder = fileURLToPath(new URL('../../drizzle/platform', import.meta.url));
  await migrateDatabase({ url: databaseUrl, folder, schema: 'platform', logger, clock });
  const database = openDatabase({ url: databaseUrl, name: 'bench-platform', clock, logger });
  // A public host, as the service demands; a tunnel leads from it to the account's server.
  const targets = new Map(
    accounts.map(({ port }, place) => [`receiver-${place}.example.com`, `http://127.0.0.1:${port}`]),
  );
  const hosts = { target: (host: string) => targets.get(host) };
  const secrets = { next: () => secret };
  const configuration = createWebhookConfiguration({ database, hosts, clock, secrets });
  await configuration.load();
  for (const [place, { workspaceId, path }] of accounts.entries()) {
    await configuration.put(workspaceId, `https://receiver-${place}.example.com${path}`);
  }
  const watch = onChange === undefined ? {} : { onChange };
  const delivery = createDelivery({ database, clock, logger, configuration, hosts, limits, ...watch });
  await delivery.start();
  return {
    database,
    delivery,
    async close() {
      await delivery.close();
      await database.close();
    },
  };
}

/** Writes events of a run into the ledger, as the state changes that cause them would. */
export async function recordRun(
  database: Database,
  workspaceId: string,
  run: number,
  count: number,
): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for (let first = 0; first < count; first += RECORD_BATCH) {
    const size = Math.min(RECORD_BATCH, count - first);
    const batch = Array.from({ length: size }, (_, offset) => newEvent(workspaceId, run, first + offset));
    recorded.push(...(await database.transaction((tx) => recordEvents(tx, batch))));
  }
  return recorded;
}

function newEvent(workspaceId: string, run: number, index: number): NewEvent {
  const at = clock.now();
  const payload = serviceEvent(planEvent(run, index), index, at);
  return {
    workspaceId,
    connectionId: payload.connection_id,
    messageId: payload.message.id,
    event: payload.event,
    status: payload.event === 'message.status' ? payload.message.status : null,
    payload,
    at,
  };
}
