/*
 * Loaded before the connector's command (`node --import`): loads all its modules, reports that, and starts the
 * command when it reads a line. A process that was prepared this way starts almost at once. It collects its garbage
 * when it receives SIGUSR2, so that a test can see what is in use.
 */
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import '../../src/commands/run-connector.ts';

// It may be killed, and Node stores its compile cache only when a process exits normally.
flushCompileCache();
process.stdout.write('loaded\n');
setFlagsFromString('--expose-gc');
process.on('SIGUSR2', runInNewContext('gc'));
// The parent process is gone, so no one will end this one.
process.stdin.once('end', () => process.exit());
await once(process.stdin, 'data');
