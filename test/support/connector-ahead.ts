/*
 * A whole connector in a process of its own (`role` all, a real listener), whose wall clock runs ahead: what it
 * would wait for is due. It says when its modules are in memory, begins with a line that says by how many
 * milliseconds it is ahead, and prints its address once it serves. Each further line puts it ahead by so many more.
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
// It will be killed, and Node keeps what it compiled only when a process ends by itself.
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
