/*
 * Loaded before the connector's command (`node --import`): loads all its modules, reports that, and starts the
 * command when it reads a line. A process that was prepared this way starts almost at once.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import '../../src/commands/run-connector.ts';

// It may be killed, and Node stores its compile cache only when a process exits normally.
flushCompileCache();
process.stdout.write('loaded\n');
// The parent process is gone, so no one will end this one.
process.stdin.once('end', () => process.exit());
await once(process.stdin, 'data');
