import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  cp,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type Account, canReach, chooseAccount } from './account.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import { type Binaries, binaryPath } from './locate-binaries.ts';

/** Where a server's parts are, and whom it runs as. */
export interface Placement {
  /** Folder that holds the data; the cluster itself lies in `cluster` below it. */
  readonly storage: string;
  readonly cluster: string;
  readonly binaries: Binaries;
  /** Undefined: as we are. */
  readonly account: Account | undefined;
  /** What a user should know about it. */
  readonly note: string | undefined;
}

const APPLICATION = 'messaging-connector';

/** Folders that any account can enter, the most lasting first. */
function sharedRoots(): string[] {
  return ['/var/lib', '/var/tmp', tmpdir()].map((root) => join(root, APPLICATION));
}

/**
 * Decides whom the server runs as and where its data and programs lie: beside the project, unless we are
 * root. Postgres refuses root, so it then runs as an account without rights; where that account cannot enter
 * the project's folder, data and programs go to a place that it can, found again by a hash of the path.
 */
export async function place(home: string, installed: Binaries): Promise<Placement> {
  await completeLinks(installed);
  const key = createHash('sha256')
    .update(await realpath(home))
    .digest('hex')
    .slice(0, 16);
  const shared = sharedRoots().map((root) => join(root, key));
  const account = await chooseAccount([home, ...shared].map((storage) => join(storage, 'cluster')));
  if (account === undefined) {
    return { storage: home, cluster: join(home, 'cluster'), binaries: installed, account, note: undefined };
  }
  const moved = !(await canReach(home, account, 'enter'));
  const storage = moved ? await chooseStorage(shared, account) : home;
  const binaries = (await canRun(installed, account)) ? installed : await copyBinaries(installed, account);
  const why = `Postgres does not run as root: it runs as ${account.name}`;
  const note = moved
    ? `${why}, who cannot enter ${dirname(home)}; the data is in ${storage}`
    : `${why}; the data is in ${storage}`;
  return { storage, cluster: join(storage, 'cluster'), binaries, account, note };
}

/** Makes an empty folder of the account's own for the cluster to be made in. */
export async function prepareFolder(path: string, account: Account | undefined): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

/** The folder that holds data already, else the first that can be made and reached. */
async function chooseStorage(candidates: readonly string[], account: Account): Promise<string> {
  for (const candidate of candidates) {
    if ((await stat(join(candidate, 'cluster')).catch(() => undefined)) !== undefined) return candidate;
  }
  for (const candidate of candidates) {
    if (await makeReachable(candidate, account)) return candidate;
  }
  throw new EmbeddedPostgresFailed(
    `Postgres must run as ${account.name}, who can reach neither the data folder nor any of ${candidates.join(', ')}; ` +
      'start as an ordinary user',
  );
}

async function makeReachable(folder: string, account: Account): Promise<boolean> {
  try {
    for (const part of [dirname(folder), folder]) {
      await mkdir(part, { recursive: true });
      await chmod(part, 0o755);
    }
  } catch {
    return false;
  }
  return await canReach(folder, account, 'enter');
}

async function canRun(binaries: Binaries, account: Account): Promise<boolean> {
  const program = await canReach(binaryPath(binaries, 'postgres'), account, 'enter');
  return (
    program &&
    (await canReach(join(binaries.directory, 'share', 'postgresql', 'postgres.bki'), account, 'read'))
  );
}

/** Copies the programs once per version to where every account can run them. */
async function copyBinaries(installed: Binaries, account: Account): Promise<Binaries> {
  for (const root of sharedRoots()) {
    const copy: Binaries = { ...installed, directory: join(root, `postgres-${installed.version}`) };
    if (await canRun(copy, account)) return copy;
    if (!(await makeReachable(root, account))) continue;
    const draft = `${copy.directory}.${process.pid}`;
    await cp(installed.directory, draft, { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    await rm(copy.directory, { recursive: true, force: true });
    await rename(draft, copy.directory);
    return copy;
  }
  throw new EmbeddedPostgresFailed(
    `Postgres must run as ${account.name}, who cannot run the programs in ${installed.directory}; ` +
      'start as an ordinary user',
  );
}

async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o111 ? 0o755 : 0o644);
  }
}

/** The package makes its links in an install script; where scripts are switched off, they are made here. */
async function completeLinks(binaries: Binaries): Promise<void> {
  const list = await readFile(join(binaries.directory, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: unknown = JSON.parse(list);
  if (!Array.isArray(links)) return;
  for (const entry of links) {
    const source: unknown = Reflect.get(entry, 'source');
    const target: unknown = Reflect.get(entry, 'target');
    if (typeof source !== 'string' || typeof target !== 'string') continue;
    const path = join(binaries.directory, '..', target);
    // Links lie beside what they name.
    await symlink(basename(source), path).catch((error: unknown) => {
      if (Reflect.get(Object(error), 'code') !== 'EEXIST') {
        throw new EmbeddedPostgresFailed(
          `the link ${path} is missing and cannot be made; run npm install again`,
          error,
        );
      }
    });
  }
}
