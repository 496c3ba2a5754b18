/*
 * A worker in a process of its own, to be stopped and killed: it calls the handler and HTTP consumers. It gets what it
 * needs as one JSON argument, says that it is loaded, begins when a line comes in, and writes a line for each call of
 * the handler. Nothing notifies it: it finds its work by its periodic checks.
 */

import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createConsumerMetrics } from '../../../src/connector/consumers/consumer-metrics.ts';
import { createConsumers } from '../../../src/connector/consumers/consumers.ts';
import { createFeed } from '../../../src/connector/feed/feed.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import { repeat } from '../../../src/runtime/clock/repeat.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ManualNotifier } from './manual-notifier.ts';

/** `journal` gets its lives and calls. Not `guarded`: it is always sure that what it holds is still its own. */
const { databaseUrl, journal, guarded } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const clock = systemClock;
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 6, clock, logger });
const joined = createPresence({ database, clock, logger, works: true });
/** When it last asked whether what it holds is its own. What it calls then begins at this moment. */
let askedAt = 0;
const presence: Presence = Object.create(joined, {
  isConfirmed: {
    get() {
      askedAt = clock.now();
      return !guarded || joined.isConfirmed;
    },
  },
});
const feed = createFeed({ database, clock, logger });

/** Writes a line before anything else can run; the order of lines is that of all processes. */
function writeDown(call?: Pick<Change, 'connectionId' | 'seq'>): void {
  const at = call === undefined ? clock.now() : askedAt;
  appendFileSync(journal, `${JSON.stringify({ life: joined.id, pid: process.pid, at, ...call })}\n`);
}

const consumers = createConsumers({
  database,
  notifier: new ManualNotifier(),
  clock,
  logger,
  presence,
  random: () => 1,
  metrics: createConsumerMetrics(createMetrics()),
  feed,
  works: true,
  keyRing: {
    seal: (plain) => Promise.resolve(plain),
    // The same secret for every consumer, and a different one in every process: requests show where they come from.
    open: () => Promise.resolve(`whsec_${Buffer.from(`of process ${process.pid}`).toString('base64')}`),
    isCurrent: () => true,
  },
  serviceHosts: { own: 'http://127.0.0.1' },
  redisUrl: undefined,
  handlers: {
    async onChange({ connectionId, seq }) {
      process.stdout.write('called\n');
      writeDown({ connectionId, seq });
      await clock.sleep(20);
    },
  },
  checkEveryMs: 3_000,
});
process.stdout.write('loaded\n');
await once(process.stdin, 'data');
feed.start();
await presence.start();
await consumers.start();
// Also a life in which it calls nothing is known.
repeat({ clock, everyMs: 100, run: async () => writeDown(), onError: () => process.exit(1) }).start();
process.once('SIGTERM', async () => {
  await consumers.close();
  await joined.stop();
  writeDown();
  process.exit(0);
});
