import { createPlatform } from '../../src/platform/platform.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../src/runtime/database/database.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';

/** A process that runs a platform on the database in its first argument until it is killed. */
const logger = createLogger({ level: 'silent', name: 'held' });
const database = openDatabase({ url: process.argv[2] ?? '', name: 'held', clock: systemClock, logger });
await createPlatform({
  database,
  systemClock,
  logger,
  baseUrls: () => ({
    api: 'http://localhost/api/v1',
    legacyApi: 'http://localhost/api/v1',
    auth: 'http://localhost',
  }),
  sendScale: 0,
});
process.stdout.write('runs\n');
process.stdin.resume();
