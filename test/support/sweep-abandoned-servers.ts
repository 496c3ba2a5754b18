import { spawnSync } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, parseIdentity } from '../../src/runtime/database/embedded/process-identity.ts';
import { OWN_POSTGRES_PREFIX } from './own-postgres.ts';
import { listScratchFolders } from './scratch-folder.ts';

/** Prefix of the temporary folders of test servers. */
export const TEST_FOLDER_PREFIX = 'messaging-connector-test-';

/** Stops servers of killed test runs, and removes their folders. A server outlives its users by design. */
export async function sweepAbandonedServers(): Promise<void> {
  for (const folder of listScratchFolders()) {
    for (const name of await readdir(folder)) {
      if (name.startsWith(TEST_FOLDER_PREFIX)) await sweep(join(folder, name));
    }
  }
}

async function sweep(folder: string): Promise<void> {
  const home = join(folder, 'postgres');
  const members = await readdir(join(home, 'members')).catch(() => undefined);
  // No user yet: the run may just be starting.
  if (members === undefined) return;
  for (const member of members) {
    if (await isRecordedRunning(join(home, 'members', member))) return;
  }
  await endServer(home);
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
  const server = join(home, 'server.json');
  if (!(await isRecordedRunning(server))) return;
  const recorded = parseIdentity(await readFile(server, 'utf8'));
  if (recorded !== undefined) process.kill(recorded.pid, 'SIGQUIT');
}

async function isRecordedRunning(file: string): Promise<boolean> {
  const identity = parseIdentity(await readFile(file, 'utf8').catch(() => ''));
  return identity !== undefined && (await isRunning(identity));
}
