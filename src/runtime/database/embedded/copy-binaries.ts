import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Account, canReach } from './account.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import { type Binaries, binaryPath } from './locate-binaries.ts';
import { listSharedFolders, makeSharedFolder } from './shared-folders.ts';

/**
 * The installed programs if the account can run them, otherwise a copy that it can run, created once per
 * version.
 */
export async function bringWithinReach(installed: Binaries, account: Account): Promise<Binaries> {
  if (await canRun(installed, account)) return installed;
  const name = `postgres-${installed.version}`;
  for (const folder of await listSharedFolders()) {
    const copy = { ...installed, directory: join(folder, name, 'native') };
    if (await canRun(copy, account)) return copy;
  }
  const folder = await makeSharedFolder(name, account);
  if (folder === undefined) {
    throw new EmbeddedPostgresFailed(
      `Postgres must run as ${account.name}, who cannot run the programs in ${installed.directory}; ` +
        'start as an ordinary user',
    );
  }
  const copy = { ...installed, directory: join(folder, 'native') };
  await copyAll(installed.directory, copy.directory);
  if (await canRun(copy, account)) return copy;
  throw new EmbeddedPostgresFailed(`the copy of Postgres in ${copy.directory} cannot be run; remove it`);
}

async function canRun(binaries: Binaries, account: Account): Promise<boolean> {
  // A distribution keeps it in another place that every user can read.
  const support = join(binaries.directory, 'share', 'postgresql', 'postgres.bki');
  return (
    (await canReach(binaryPath(binaries, 'postgres'), account, 'enter')) &&
    (!existsSync(support) || (await canReach(support, account, 'read')))
  );
}

/**
 * Copies to a temporary folder next to the target and moves it into place when complete; another process may
 * have been faster.
 */
async function copyAll(from: string, to: string): Promise<void> {
  const draft = `${to}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await cp(from, draft, { recursive: true, verbatimSymlinks: true });
  await openToAll(draft);
  try {
    await rename(draft, to);
  } catch {
    await rm(draft, { recursive: true, force: true });
  }
}

async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o111 ? 0o755 : 0o644);
  }
}

/**
 * The installed programs with their symlinks, which no install script has created. If they cannot be created
 * because another user installed the package, a copy in `home` that has them, created once per version.
 * @throws EmbeddedPostgresFailed if neither can be created
 */
export async function withLinks(installed: Binaries, home: string): Promise<Binaries> {
  if ((await completeLinks(installed)) === undefined) return installed;
  const folder = join(home, `programs-${installed.version}`);
  const copy = { ...installed, directory: join(folder, 'native') };
  if (!existsSync(copy.directory)) {
    await mkdir(folder, { recursive: true });
    await copyAll(installed.directory, copy.directory);
  }
  const failure = await completeLinks(copy);
  if (failure === undefined) return copy;
  throw new EmbeddedPostgresFailed(`the links of ${copy.directory} cannot be created`, failure);
}

/** Creates the missing symlinks. Returns the error that prevented one; undefined if all exist. */
async function completeLinks(binaries: Binaries): Promise<unknown> {
  const list = await readFile(join(binaries.directory, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: unknown = JSON.parse(list);
  if (!Array.isArray(links)) return undefined;
  for (const link of links) {
    const source: unknown = Reflect.get(Object(link), 'source');
    const target: unknown = Reflect.get(Object(link), 'target');
    if (typeof source !== 'string' || typeof target !== 'string') continue;
    // Symlinks are next to their targets.
    const failure = await makeLink(basename(source), join(binaries.directory, '..', target));
    if (failure !== undefined) return failure;
  }
  return undefined;
}

async function makeLink(source: string, path: string): Promise<unknown> {
  if (await isThere(path)) return undefined;
  try {
    await symlink(source, path);
    return undefined;
  } catch (error) {
    // Another process may just have created it.
    return (await isThere(path)) ? undefined : error;
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
