import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEmbeddedPostgres } from '../../src/runtime/database/embedded/find-running.ts';
import { endServer } from './sweep-abandoned-servers.ts';

/** The default data folder of a checkout: a folder that only this user can enter, like a home directory. */
export interface DataFolder {
  /** A `--data-dir`. */
  readonly path: string;
  /** Ends the servers whose data is in it or one folder below, and removes everything. */
  remove(): Promise<void>;
}

const LOCATION = /data (?:is )?in (\S+)|"location":"([^"]+)"/;

/** The data folder of an embedded Postgres, from what a command printed or logged. */
export function findLocation(printed: string): string | undefined {
  const found = LOCATION.exec(printed);
  return found?.[1] ?? found?.[2];
}

export async function makeDataFolder(): Promise<DataFolder> {
  // mkdtemp creates it with mode 0700.
  const home = await realpath(await mkdtemp(join(tmpdir(), 'test-data-')));
  const path = join(home, '.data');
  return {
    path,
    async remove() {
      const below = await readdir(path).catch(() => []);
      for (const dataDir of [path, ...below.map((name) => join(path, name))]) {
        const found = await findEmbeddedPostgres(dataDir);
        await endServer(join(dataDir, 'postgres'));
        // As root the data cannot be below a private folder, so the command stores it elsewhere.
        if (found.kind !== 'absent') await removeFolder(found.location);
      }
      await removeFolder(home);
    },
  };
}

async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
