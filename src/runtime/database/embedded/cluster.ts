import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chown, link, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import type { Placement } from './placement.ts';
import { binaryPath } from './programs.ts';

const run = promisify(execFile);

const DRAFT_PREFIX = 'cluster.new-';

/** An environment in which no setting of the caller reaches Postgres. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC', SystemRoot: process.env['SystemRoot'] };
}

/** The `spawn` options that run a program as the server's account. */
export function runAs(placement: Placement): { uid?: number; gid?: number } {
  return placement.account === undefined ? {} : { uid: placement.account.uid, gid: placement.account.gid };
}

/**
 * Creates the cluster (UTF-8, C locale, a random password for its only user) unless it exists. It is created
 * in a temporary folder and moved into place when complete, so that a crash leaves no partial cluster, and of several
 * processes that do so at once, all use the first one. Returns the password.
 */
export async function ensureCluster(placement: Placement, home: string, durable: boolean): Promise<string> {
  const { cluster, storage } = placement;
  const passwordFile = join(home, 'password');
  if (!(await isThere(cluster))) {
    const password = await ensurePassword(passwordFile, placement);
    await create(placement, password, durable).catch(async (error: unknown) => {
      if (!(await isThere(cluster))) throw error;
    });
    await removeDrafts(storage);
  }
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) {
    throw new EmbeddedPostgresFailed(
      `${cluster} is not readable as Postgres data; move it away, or check its owner`,
    );
  }
  refuseOtherVersion(placement, version.trim());
  return await readPassword(passwordFile, placement);
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** The file appears with its complete content. If it exists, it remains: data that is being created may have it. */
async function ensurePassword(file: string, placement: Placement): Promise<string> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  await link(draft, file).catch(() => undefined);
  await rm(draft);
  return await readPassword(file, placement);
}

async function create(placement: Placement, password: string, durable: boolean): Promise<void> {
  const draft = await mkdtemp(join(placement.storage, DRAFT_PREFIX));
  const dispatch = `${draft}.password`;
  try {
    await writeFile(dispatch, password, { mode: 0o600 });
    for (const path of [draft, dispatch]) await giveTo(placement, path);
    await initialize(placement, draft, dispatch, durable);
    await rename(draft, placement.cluster);
  } finally {
    await rm(dispatch, { force: true });
  }
}

/** Leftovers of starts that crashed or were too late. The initdb of one may still be writing; then it fails. */
async function removeDrafts(storage: string): Promise<void> {
  for (const name of await readdir(storage)) {
    if (!name.startsWith(DRAFT_PREFIX)) continue;
    await rm(join(storage, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

async function giveTo({ account }: Placement, path: string): Promise<void> {
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

function refuseOtherVersion(placement: Placement, version: string): void {
  const [major] = placement.binaries.version.split('.');
  if (version === major) return;
  throw new EmbeddedPostgresFailed(
    `the data in ${placement.cluster} was created by Postgres ${version}, but this version includes Postgres ${major}; ` +
      'move the folder away to start over',
  );
}

async function readPassword(file: string, placement: Placement): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `the password in ${file} cannot be read, so the data in ${placement.cluster} is not accessible; ` +
        'start as the user who created it, or move both away to start over',
      error,
    );
  }
}

async function initialize(
  placement: Placement,
  folder: string,
  passwordFile: string,
  durable: boolean,
): Promise<void> {
  const options = [
    '--username=postgres',
    '--encoding=UTF8',
    '--locale=C',
    '--auth=scram-sha-256',
    '--no-instructions',
  ];
  if (!durable) options.push('--no-sync');
  try {
    await run(
      binaryPath(placement.binaries, 'initdb'),
      [`--pgdata=${folder}`, `--pwfile=${passwordFile}`, ...options],
      { ...runAs(placement), env: serverEnvironment(), cwd: placement.storage },
    );
  } catch (error) {
    throw new EmbeddedPostgresFailed(`initdb failed: ${describeExec(error)}`, error);
  }
}

/** What a program that failed says last, its last error if it names one, or why it could not be started. */
export function describeExec(error: unknown): string {
  const code: unknown = Reflect.get(Object(error), 'code');
  if (code === 'EPERM')
    return 'this process must not run programs as another user; start it as an ordinary user';
  if (code === 'ENOENT')
    return 'the program does not run on this system (it needs glibc, which Alpine Linux lacks)';
  const stderr: unknown = Reflect.get(Object(error), 'stderr');
  const lines = typeof stderr === 'string' ? stderr.trim().split('\n') : [];
  const named = lines.findLast((line) => /(?:FATAL|PANIC|error):/.test(line));
  return named?.replace(/^.*?(?=FATAL|PANIC|error)/, '') ?? lines.at(-1) ?? String(code);
}
