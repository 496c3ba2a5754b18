import { fileURLToPath } from 'node:url';
import { createWebhookConfiguration } from '../../src/platform/webhooks/configuration.ts';
import { createDelivery, type Delivery } from '../../src/platform/webhooks/delivery.ts';
import { type NewEvent, type RecordedEvent, recordEvents } from '../../src/platform/webhooks/ledger.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { planEvent, serviceEvent } from '../ingest/service-events.ts';
import { serveParent } from '../process/serve-parent.ts';
import {
  CONCURRENCY,
  type DeliverInput,
  type DeliverResult,
  type SenderCommands,
  type SenderSetup,
} from './senders.ts';

const WORKSPACE = 'bench-workspace';
/** A public host, as the service demands; a tunnel leads from it to the receiver. */
const HOST = 'receiver.example.com';
const RECORD_BATCH = 1000;

const clock = systemClock;
const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });

let running: { readonly database: Database; readonly delivery: Delivery } | undefined;

async function prepare({ receiverPort, path, secret, databaseUrl }: SenderSetup): Promise<void> {
  const folder = fileURLToPath(new URL('../../drizzle/platform', import.meta.url));
  await migrateDatabase({ url: databaseUrl, folder, schema: 'platform', logger, clock });
  const database = openDatabase({ url: databaseUrl, name: 'bench-platform', clock, logger });
  const hosts = {
    target: (host: string) => (host === HOST ? `http://127.0.0.1:${receiverPort}` : undefined),
  };
  const secrets = { next: () => secret };
  const configuration = createWebhookConfiguration({ database, hosts, clock, secrets });
  await configuration.load();
  await configuration.put(WORKSPACE, `https://${HOST}${path}`);
  const limits = { attempts: CONCURRENCY };
  const delivery = createDelivery({ database, clock, logger, configuration, hosts, limits });
  await delivery.start();
  running = { database, delivery };
}

/** The clock runs from the hand-over of recorded events until each is answered and written down. */
async function deliver({ run, count }: DeliverInput): Promise<DeliverResult> {
  if (running === undefined) throw new Error('prepare comes first');
  const { database, delivery } = running;
  const events = await record(database, run, count);
  const before = await countDelivered(database);
  const began = clock.elapsed();
  delivery.deliver(events);
  await delivery.settle();
  const elapsedMs = clock.elapsed() - began;
  return { delivered: (await countDelivered(database)) - before, elapsedMs };
}

/** Writes the events into the ledger, as the state changes that cause them would. */
async function record(database: Database, run: number, count: number): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for (let first = 0; first < count; first += RECORD_BATCH) {
    const size = Math.min(RECORD_BATCH, count - first);
    const batch = Array.from({ length: size }, (_, offset) => newEvent(run, first + offset));
    recorded.push(...(await database.transaction((tx) => recordEvents(tx, batch))));
  }
  return recorded;
}

function newEvent(run: number, index: number): NewEvent {
  const at = clock.now();
  const payload = serviceEvent(planEvent(run, index), index, at);
  return {
    workspaceId: WORKSPACE,
    connectionId: payload.connection_id,
    messageId: payload.message.id,
    event: payload.event,
    status: payload.event === 'message.status' ? payload.message.status : null,
    payload,
    at,
  };
}

async function countDelivered(database: Database): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM platform.deliveries WHERE outcome = 'delivered'`,
  );
  return row?.count ?? 0;
}

serveParent({ prepare, deliver } satisfies SenderCommands, async () => {
  await running?.delivery.close();
  await running?.database.close();
});
