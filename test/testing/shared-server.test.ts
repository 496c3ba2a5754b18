import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withDatabase } from '../../src/runtime/database/database-url.ts';
import { ROOT } from '../support/root.ts';
import { QUICK_IMPORTS, type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';
import { endServer } from '../support/sweep-abandoned-servers.ts';

const SLOW_MS = 120_000;
const STAGE_MS = 30_000;
const IDLE_MS = '100';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shared-server-'));
  await chmod(folder, 0o755);
});
afterAll(async () => {
  await endServer(join(folder, 'postgres'));
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

const start = (): SpawnedCommand =>
  spawnCommand('node', [join(ROOT, 'test/testing/use-shared-server.ts'), folder, IDLE_MS], {
    env: QUICK_IMPORTS,
  });
const addressOf = async (process: SpawnedCommand): Promise<URL> => new URL(await process.said(/^postgres:/));

async function listDatabases(url: URL): Promise<string[]> {
  const sql = postgres(withDatabase(url.href, 'postgres'), { max: 1 });
  try {
    const rows = await sql<
      { datname: string }[]
    >`select datname from pg_database where datname like 'mctest%'`;
    return rows.map(({ datname }) => `/${datname}`).toSorted();
  } finally {
    await sql.end();
  }
}

/** Whether the port accepts connections. A Postgres client may wait forever for a server that is stopping. */
async function listens(port: number): Promise<boolean> {
  const answer = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1')
    .once('connect', () => answer.resolve(true))
    .once('error', () => answer.resolve(false));
  const isOpen = await answer.promise;
  socket.destroy();
  return isOpen;
}

it(
  'test processes share a server, clean up after killed ones, and leave none running',
  async () => {
    const [one, two] = [start(), start()];
    const [first, second] = await Promise.all([one, two].map(addressOf));
    if (first === undefined || second === undefined) throw new Error('a process has no database');
    expect(second.port).toBe(first.port);
    expect(await listDatabases(first)).toEqual([first.pathname, second.pathname].toSorted());

    await one.kill();
    const three = start();
    const third = await addressOf(three);
    expect(third.port).toBe(first.port);
    expect(await listDatabases(first)).toEqual([second.pathname, third.pathname].toSorted());

    three.signal('SIGTERM');
    expect((await three.ended).code).toBe(0);
    expect(await listDatabases(first)).toEqual([second.pathname]);

    // Only the keeper is left to stop the server.
    await two.kill();
    await expect.poll(() => listens(Number(first.port)), { timeout: STAGE_MS }).toBe(false);
  },
  SLOW_MS,
);
