import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { listSharedFolders } from './shared-folders.ts';

/** The content of a data folder: nothing, data whose server is not running, or a running server. */
export type FoundPostgres =
  | { readonly kind: 'absent' }
  | { readonly kind: 'stopped'; readonly location: string }
  | { readonly kind: 'running'; readonly location: string; readonly url: string };

/** Looks for the embedded Postgres of a data folder without starting, joining or changing anything. */
export async function findEmbeddedPostgres(dataDir: string): Promise<FoundPostgres> {
  const home = join(resolve(dataDir), 'postgres');
  const real = await realpath(home).catch(() => null);
  if (real === null) return { kind: 'absent' };
  const key = createHash('sha256').update(real).digest('hex').slice(0, 16);
  const folders = [home, ...(await listSharedFolders()).map((folder) => join(folder, key))];
  for (const location of folders) {
    const cluster = join(location, 'cluster');
    if ((await stat(cluster).catch(() => null)) === null) continue;
    const port = await readPort(cluster);
    const password = (await readFile(join(home, 'password'), 'utf8').catch(() => '')).trim();
    if (port === null || password === '') return { kind: 'stopped', location };
    return { kind: 'running', location, url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` };
  }
  return { kind: 'absent' };
}

/** From what Postgres writes about itself; null if its process is gone. */
async function readPort(cluster: string): Promise<number | null> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isSafeInteger(pid) || pid <= 0 || !Number.isSafeInteger(port) || port <= 0) return null;
  return isAlive(pid) ? port : null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
