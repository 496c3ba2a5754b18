/*
 * A process that sends what is queued, for tests that kill it. It gets all it needs as one JSON argument, and
 * prints a line when it has begun. No queue wakes it: it finds its work as after the loss of every job.
 */
import { randomUUID } from 'node:crypto';
import { createFeed } from '../../src/connector/feed/feed.ts';
import { openSendingClient } from '../../src/connector/outbox/open-client.ts';
import { createOutbox } from '../../src/connector/outbox/outbox.ts';
import { createOutboxMetrics } from '../../src/connector/outbox/outbox-metrics.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../src/runtime/database/database.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { createMetrics } from '../../src/runtime/metrics/metrics.ts';
import type { Queues } from '../../src/runtime/queue/queues.ts';
import { createKeyRing } from '../../src/runtime/sealing/key-ring.ts';

const { databaseUrl, sealingKey, presenceMs, sweepEveryMs } = JSON.parse(process.argv[2] ?? '{}');
const clock = systemClock;
const logger = createLogger({ level: 'silent', name: 'sender' });
const database = openDatabase({ url: databaseUrl, name: 'sender', poolSize: 4, clock, logger });
const feed = createFeed({ database, clock, logger });
const keyRing = createKeyRing([sealingKey]);
const nothing = (): Promise<void> => Promise.resolve();
const queues: Queues = {
  backend: 'postgres',
  wake: nothing,
  schedule: nothing,
  unschedule: nothing,
  work: () => undefined,
  ping: nothing,
  close: nothing,
};
const outbox = createOutbox({
  database,
  queues,
  clock,
  logger,
  owner: randomUUID(),
  random: Math.random,
  metrics: createOutboxMetrics(createMetrics()),
  sends: true,
  clientFor: (accountId) => openSendingClient({ database, keyRing, clock, mayUse: () => true }, accountId),
  onCommitted: () => feed.nudge(),
  presenceMs,
  sweepEveryMs,
});
await outbox.start();
process.stdout.write('sending\n');
