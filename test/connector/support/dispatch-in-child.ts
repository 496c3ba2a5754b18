/*
 * A worker in a process of its own, to be killed: it hands changes over to a small CRM in the same database,
 * which keeps the effect of a change under its key. It gets what it needs as one JSON argument, says that it is
 * loaded, begins when a line comes in, and writes a line for each call. Nothing notifies it: it finds its work by its periodic checks.
 */

import { once } from 'node:events';
import { createConsumerMetrics } from '../../../src/connector/consumers/consumer-metrics.ts';
import { createConsumers } from '../../../src/connector/consumers/consumers.ts';
import type { HandlerContext } from '../../../src/connector/consumers/sinks/handler.ts';
import { createFeed } from '../../../src/connector/feed/feed.ts';
import { createPresence } from '../../../src/connector/work/presence.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';

/** How many effects the careless CRM keeps in memory before it writes them. */
const KEPT = 20;

const { databaseUrl, careless, computesMs = 0 } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const clock = systemClock;
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 6, clock, logger });
const nothing = (): Promise<void> => Promise.resolve();
const notifier: Notifier = {
  backend: 'postgres',
  receives: true,
  notify: () => undefined,
  subscribe: () => () => undefined,
  tell: () => undefined,
  hear: () => () => undefined,
  ping: nothing,
  close: nothing,
};
const presence = createPresence({ database, clock, logger, works: true });
const feed = createFeed({ database, clock, logger });

async function keepEffect({ connectionId, seq }: Change, { key }: HandlerContext): Promise<void> {
  await database.query(
    `insert into public.effects (key, connection_id, seq) values ($1, $2, $3::bigint) on conflict (key) do nothing`,
    [key, connectionId, seq],
  );
}

/** Does nothing else for as long as it was told, once. */
let left: number = computesMs;
function compute(): void {
  const until = clock.elapsed() + left;
  left = 0;
  while (clock.elapsed() < until);
}

/** Acknowledges before it works. */
const kept: (readonly [Change, HandlerContext])[] = [];
async function keepForLater(change: Change, context: HandlerContext): Promise<void> {
  kept.push([change, context]);
  if (kept.length < KEPT) return;
  for (const [earlier, of] of kept.splice(0)) await keepEffect(earlier, of);
}

const consumers = createConsumers({
  database,
  notifier,
  clock,
  logger,
  presence,
  random: () => 1,
  metrics: createConsumerMetrics(createMetrics()),
  feed,
  works: true,
  keyRing: createKeyRing([generateSealingKey()]),
  serviceHosts: null,
  redisUrl: undefined,
  handlers: {
    async onChange(change, context) {
      process.stdout.write('called\n');
      compute();
      await (careless ? keepForLater : keepEffect)(change, context);
    },
  },
  checkEveryMs: 100,
});
process.stdout.write('loaded\n');
await once(process.stdin, 'data');
feed.start();
await presence.start();
await consumers.start();
