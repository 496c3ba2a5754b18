import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { EmbeddedPostgres } from '../../src/runtime/database/embedded.ts';
import { startFastPostgres } from '../../src/testing/fast-postgres.ts';
import { requireInstalledPostgres } from './own-postgres.ts';
import { ROOT } from './root.ts';
import { chooseScratchFolder } from './scratch-folder.ts';
import { sweepAbandonedServers, TEST_FOLDER_PREFIX } from './sweep-abandoned-servers.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A Postgres that the whole run shares. Create databases on it with `createTestDatabase`. */
    databaseUrl: string;
    /** Whether the run writes what it would compare (`-u`). */
    updatesSnapshots: boolean;
  }
}

/**
 * Gives the run its own folder for temporary files, and the Postgres of `TEST_DATABASE_URL`, the distribution's
 * with its default settings (`TEST_POSTGRES=installed`), or an embedded one that is fast and not durable. The project
 * `unit` does not start it.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweepAbandonedServers();
  const folder = await makeRunFolder();
  const given = process.env['TEST_DATABASE_URL'];
  const isNeeded = project.vitest.projects.some(({ name }) => name !== 'unit');
  const server = isNeeded && (given === undefined || given === '') ? await startDatabase(folder) : undefined;
  project.provide('databaseUrl', server?.url ?? given ?? '');
  project.provide('updatesSnapshots', project.config.snapshotOptions.updateSnapshot === 'all');
  return async () => {
    if (server !== undefined) {
      await server.stop();
      await rm(server.location, { recursive: true, force: true });
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
}

async function makeRunFolder(): Promise<string> {
  const folder = await mkdtemp(join(await chooseScratchFolder(), `${TEST_FOLDER_PREFIX}${process.pid}-`));
  // As root the server runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o755);
  // The workers use this as the system's folder.
  process.env['TMPDIR'] = join(folder, 'tmp');
  await mkdir(join(folder, 'tmp'));
  // Processes that tests start mostly load the same modules, so they share a compile cache, as do later runs.
  process.env['NODE_COMPILE_CACHE'] = join(ROOT, 'node_modules/.cache/compiled');
  const preload = `--import ${new URL('resolve-quickly.ts', import.meta.url).href}`;
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} ${preload}`.trim();
  return folder;
}

function startDatabase(dataDir: string): Promise<EmbeddedPostgres> {
  return startFastPostgres(
    dataDir,
    process.env['TEST_POSTGRES'] === 'installed' ? { binaries: requireInstalledPostgres() } : {},
  );
}
