import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import { serveParent } from '../process/serve-parent.ts';
import { type OpenDelivery, openDelivery, recordRun } from './open-delivery.ts';
import {
  CONCURRENCY,
  type DeliverInput,
  type DeliverResult,
  type SenderCommands,
  type SenderSetup,
} from './senders.ts';

const WORKSPACE = 'bench-workspace';

let running: OpenDelivery | undefined;

async function prepare({ receiverPort, path, secret, databaseUrl }: SenderSetup): Promise<void> {
  running = await openDelivery({
    databaseUrl,
    secret,
    accounts: [{ workspaceId: WORKSPACE, port: receiverPort, path }],
    limits: { attempts: CONCURRENCY },
  });
}

/** The clock runs from the hand-over of recorded events until each is answered and written down. */
async function deliver({ run, count }: DeliverInput): Promise<DeliverResult> {
  if (running === undefined) throw new Error('prepare comes first');
  const { database, delivery } = running;
  const events = await recordRun(database, WORKSPACE, run, count);
  const before = await countDelivered(database);
  const began = systemClock.elapsed();
  delivery.deliver(events);
  await delivery.settle();
  const elapsedMs = systemClock.elapsed() - began;
  return { delivered: (await countDelivered(database)) - before, elapsedMs };
}

async function countDelivered(database: Database): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM platform.deliveries WHERE outcome = 'delivered'`,
  );
  return row?.count ?? 0;
}

serveParent({ prepare, deliver } satisfies SenderCommands, async () => {
  await running?.close();
});
