import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endServer } from './sweep-abandoned-servers.ts';

/** A `--data-dir` below a folder that only this user can enter, like a home directory. */
export interface DataFolder {
  readonly path: string;
  /** Removes it and ends a server that still uses it. `printed` is what a command printed about its database. */
  remove(printed: string): Promise<void>;
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
  const path = join(home, 'data');
  return {
    path,
    async remove(printed) {
      await endServer(join(path, 'postgres'));
      // As root the data cannot be below a private folder, so the command stores it elsewhere.
      const location = findLocation(printed);
      const folders = location === undefined ? [home] : [home, location];
      for (const folder of folders) {
        await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
      }
    },
  };
}
