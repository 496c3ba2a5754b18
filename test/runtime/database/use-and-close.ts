import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';

/** A process that uses the database of its first argument in every way, closes it, and prints what is still open. */
const database = openDatabase({
  url: process.argv[2] ?? '',
  name: 'test',
  poolSize: 3,
  clock: systemClock,
  logger: createLogger({ level: 'silent', name: 'test' }),
});
await Promise.all(Array.from({ length: 9 }, () => database.query('select 1')));
await database.transaction((tx) => tx.query('select 1'));
await database.query('select pg_sleep(100)', [], { deadlineMs: 50 }).catch(() => undefined);
await database.close();
// The event loop releases a closed socket in its next iteration.
await new Promise((resolve) => setImmediate(resolve));
const left = process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|Immediate|CloseReq)/.test(name));
process.stdout.write(JSON.stringify(left));
