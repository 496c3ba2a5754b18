import { createOwnDatabase } from '../../src/testing/own-database.ts';
import { openSharedServer } from '../../src/testing/shared-server.ts';

/**
 * A test process with its own database on the server in the folder of its first argument. It prints the address of
 * the database, and ends on SIGTERM.
 */
const [, , folder = '', idleMs = ''] = process.argv;
const server = await openSharedServer(undefined, folder, Number(idleMs));
const database = await createOwnDatabase(server.url, []);
process.once('SIGTERM', async () => {
  await database.drop();
  await server.close();
  process.exit(0);
});
// Keeps the process alive.
setInterval(() => undefined, 60_000);
process.stdout.write(`${database.url}\n`);
