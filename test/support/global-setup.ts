import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { startEmbeddedPostgres } from '../../src/runtime/database/embedded.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { sweepAbandonedServers, TEST_FOLDER_PREFIX } from './sweep-abandoned-servers.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A Postgres that the whole run shares. Make databases of your own in it with `createTestDatabase`. */
    databaseUrl: string;
  }
}

/** Uses the Postgres of `TEST_DATABASE_URL`, or starts an embedded one that is fast and forgets. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined && given !== '') {
    project.provide('databaseUrl', given);
    return undefined;
  }
  await sweepAbandonedServers();
  const dataDir = await mkdtemp(join(tmpdir(), TEST_FOLDER_PREFIX));
  // As root the server runs as another user, who must be able to enter.
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    logger: createLogger({ level: 'warn', name: 'test', destination: 'stderr' }),
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '400' },
  });
  project.provide('databaseUrl', server.url);
  return async () => {
    await server.stop();
    await rm(server.location, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  };
}
