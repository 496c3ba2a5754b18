/*
 * A complete connector in its own process (`role` all, a real listener), whose wall clock is ahead, so that its waits
 * are over. It reports when its modules are loaded, starts when it reads a line with the number of milliseconds that it
 * is ahead, and prints its address once it serves. Each further line moves its clock forward by that many more.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { runConnector } from '../../src/commands/run-connector.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { createShiftedClock } from './shifted-clock.ts';

const options = JSON.parse(process.argv[2] ?? '{}');
const lines = createInterface({ input: process.stdin });
lines.once('close', () => process.exit());
// It will be killed, and Node stores its compile cache only when a process exits normally.
flushCompileCache();
process.stdout.write('loaded\n');
const clock = createShiftedClock();
lines.on('line', (line) => clock.shift(Number(line)));
await once(lines, 'line');
const { url } = await runConnector({
  ...options,
  host: '127.0.0.1',
  role: 'all',
  clock,
  logger: createLogger({ level: 'fatal', name: 'connector', destination: 'stderr' }),
});
process.stdout.write(`${url}\n`);
