import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { openQueues } from '../../../src/runtime/queue/open-queues.ts';

// A process of its own: uses everything, closes, and has to end by itself, since nothing calls process.exit.
const [, , databaseUrl = '', redisUrl = ''] = process.argv;
const logger = createLogger({ level: 'info', name: 'fixture', destination: 'stderr' });
const queues = await openQueues({
  databaseUrl,
  ...(redisUrl === '' ? {} : { redisUrl }),
  prefix: `exit-${process.pid}`,
  clock: systemClock,
  logger,
});

await new Promise<void>((resolve) => {
  queues.work('jobs', () => {
    resolve();
    return Promise.resolve();
  });
  void queues.wake('jobs', { id: 1 }, { jobId: 'one' });
});
queues.work('idle', () => Promise.resolve());
await queues.schedule('jobs', 'later', {}, { everyMs: 60_000, jitter: 0.2 });
await queues.ping();
await queues.close();
process.stdout.write('closed');
