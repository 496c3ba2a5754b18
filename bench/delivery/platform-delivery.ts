import { createWebhookConfiguration } from '../../src/platform/webhooks/configuration.ts';
import { createDelivery, type Delivery } from '../../src/platform/webhooks/delivery.ts';
import { type NewEvent, recordEvents } from '../../src/platform/webhooks/ledger.ts';
import { systemClock as clock } from '../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import { logger } from '../context.ts';
import { planEvent, serviceEvent } from '../ingest/service-events.ts';
import { openSchema } from '../postgres/open-schema.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { SenderCommands } from './measure-delivery.ts';

const WORKSPACE = 'bench-workspace';
const HOST = 'receiver.example.com';
const RECORD_BATCH = 1000;

let running: { readonly database: Database; readonly delivery: Delivery } | undefined;

const commands: SenderCommands = {
  /** The delivery of the service. */
  async prepare({ port, path, secret, databaseUrl, concurrency }) {
    const database = await openSchema('platform', databaseUrl);
    // A public host, as the service demands; a tunnel leads from it to the receiver.
    const hosts = { target: (host: string) => (host === HOST ? `http://127.0.0.1:${port}` : undefined) };
    const secrets = { next: () => secret };
    const configuration = createWebhookConfiguration({ database, hosts, clock, secrets });
    await configuration.load();
    await configuration.put(WORKSPACE, `https://${HOST}${path}`);
    const attemptsAtOnce = concurrency;
    const delivery = createDelivery({ database, clock, logger, configuration, hosts, attemptsAtOnce });
    await delivery.start();
    running = { database, delivery };
  },
  /** The clock runs from the commit of recorded events until each is answered and written down. */
  async deliver({ run, count }) {
    if (running === undefined) throw new Error('prepare comes first');
    const { database, delivery } = running;
    await record(database, run, count);
    const before = await countDelivered(database);
    const began = clock.elapsed();
    delivery.wake([WORKSPACE]);
    await delivery.settle();
    const elapsedMs = clock.elapsed() - began;
    return { delivered: (await countDelivered(database)) - before, elapsedMs };
  },
};

/** Writes events of a run with their deliveries, as the state changes that cause them would. */
async function record(database: Database, run: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += RECORD_BATCH) {
    const size = Math.min(RECORD_BATCH, count - first);
    const batch = Array.from({ length: size }, (_, offset) => newEvent(run, first + offset));
    await database.transaction((tx) => recordEvents(tx, batch, clock.now()));
  }
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

serveParent(commands, async () => {
  await running?.delivery.close();
  await running?.database.close();
});
