/*
 * A process that starts a whole connector on real notifier, waits for a poll, closes it and has to end by
 * itself: nothing is left that keeps it alive. It gets all it needs as one JSON argument.
 */
import { createServer } from 'node:http';
import { createConnector } from '../../../src/connector/connector.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';

const { databaseUrl, sealingKey, baseUrl } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const clock = systemClock;
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 4, clock, logger });
const notifier = await openNotifier({ database, databaseUrl, prefix: 'connector', clock, logger });
const connector = await createConnector({
  database,
  notifier,
  clock,
  logger,
  role: 'all',
  apiToken: 'token',
  keyRing: createKeyRing([sealingKey]),
  service: { baseUrl, apiKey: 'key-1' },
  webhookPublicUrl: 'https://crm.example/webhooks/messaging',
  reconcileIntervalMs: 1_000,
  inboxRetentionDays: 30,
});
const server = createServer(connector.app);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
await connector.start();
process.stdout.write('started\n');
await new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()));
await connector.settle();
await connector.close();
await new Promise((resolve) => server.close(resolve));
await notifier.close();
await database.close();
process.stdout.write('closed\n');
