import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import { startEmbeddedPostgres } from '../../../../src/runtime/database/embedded.ts';
import { createLogger } from '../../../../src/runtime/logger/logger.ts';

/**
 * A process that uses the embedded Postgres in the folder of its first argument. It prints the result as
 * one line of JSON, and exits when its input ends.
 */
const server = await startEmbeddedPostgres({
  dataDir: process.argv[2] ?? '',
  clock: systemClock,
  logger: createLogger({ level: 'silent', name: 'test' }),
  settings: { fsync: 'off', max_connections: '20', shared_buffers: '16MB' },
});
process.stdout.write(`${JSON.stringify(server)}\n`);
process.stdin.on('end', () => {
  server.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdin.resume();
