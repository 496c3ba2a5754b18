/*
 * A process that polls one account once, for tests that kill it. It gets all it needs as one JSON argument,
 * and prints a line when it is done.
 */

import { pollAccount } from '../../../src/connector/reconcile/account-poller.ts';
import { createPollMemory } from '../../../src/connector/reconcile/poll-memory.ts';
import { createPollMetrics } from '../../../src/connector/reconcile/poll-metrics.ts';
import { createPresence } from '../../../src/connector/work/presence.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { createTurns } from '../../../src/runtime/turns/turns.ts';

const { databaseUrl, sealingKey, accountId } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 2, clock: systemClock, logger });
const presence = createPresence({ database, clock: systemClock, logger, works: true });
await presence.start();
const outcome = await pollAccount(
  {
    database,
    clock: systemClock,
    logger,
    keyRing: createKeyRing([sealingKey]),
    metrics: createPollMetrics(createMetrics()),
    presence,
    random: () => 0,
    polls: () => true,
    onCommitted: () => undefined,
    onServiceBack: () => undefined,
  },
  {
    accountId,
    budget: { coverage: 40, visibility: 20, sweep: 40 },
    longWalks: createTurns(8),
    memory: createPollMemory(),
    fullSweep: false,
    impatient: false,
    signal: new AbortController().signal,
  },
);
await presence.stop();
await database.close();
process.stdout.write(`${outcome.kind}\n`);
