import { spawnSync } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findEmbeddedPostgres } from '../../src/runtime/database/embedded/find-running.ts';
import { exists, findPostmaster } from '../../src/runtime/database/embedded/postmaster.ts';
import { OWN_POSTGRES_PREFIX } from './own-postgres.ts';
import { listScratchFolders } from './scratch-folder.ts';

/** Prefix of the temporary folders of test runs; the pid of the run follows. */
export const TEST_FOLDER_PREFIX = 'messaging-connector-test-';

/** Stops servers of killed test runs, and removes their folders. A server outlives its users by design. */
export async function sweepAbandonedServers(): Promise<void> {
  for (const folder of listScratchFolders()) {
    for (const name of await readdir(folder)) {
      const pid = new RegExp(`^${TEST_FOLDER_PREFIX}(\\d+)-`).exec(name)?.[1];
      if (pid !== undefined && !exists(Number(pid))) await sweep(join(folder, name));
    }
  }
}

async function sweep(folder: string): Promise<void> {
  await endServer(join(folder, 'postgres'));
  const temporary = join(folder, 'tmp');
  for (const name of await readdir(temporary).catch(() => []))
    if (name.startsWith(OWN_POSTGRES_PREFIX)) await endServer(join(temporary, name, 'postgres'));
  await unmountWithin(folder);
  await rm(folder, { recursive: true, force: true });
}

/** Unmounts the small disks that a killed test left: a folder with one cannot be removed. */
async function unmountWithin(folder: string): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  for (const line of mounts.split('\n')) {
    const place = line.split(' ')[1];
    if (place?.startsWith(`${folder}/`)) spawnSync('umount', ['-l', place]);
  }
}

/** Ends the server whose control files are in `home`, even if it is in use. */
export async function endServer(home: string): Promise<void> {
  const found = await findEmbeddedPostgres(dirname(home));
  if (found.kind === 'absent') return;
  const server = await findPostmaster(join(found.location, 'cluster'));
  if (server !== undefined) process.kill(server.pid, 'SIGQUIT');
}
