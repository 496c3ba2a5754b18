/*
 * Loaded before the connector's command (`node --import`): brings all its modules into memory, says so, and lets
 * the command itself begin when a line comes in. A process that is started this way is there within a moment.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import '../../src/commands/run-connector.ts';

// It may be killed, and Node keeps what it compiled only when a process ends by itself.
flushCompileCache();
process.stdout.write('loaded\n');
// Whoever started this process is gone, so nobody will end it.
process.stdin.once('end', () => process.exit());
await once(process.stdin, 'data');
