import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock/clock.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import { identifyProcess, isRunning, parseIdentity } from './process-identity.ts';

const NAME = /^lock\.(\d+)$/;
const PAUSE_MS = 15;
const RELEASED = 'released';

/**
 * Runs `work` while no other process works in `folder`. The lock is the file `lock.N` with the highest N. It
 * is free when its holder wrote so or is no longer running; to take it, a process creates `lock.N+1`, which
 * only one can do. No file of a holder is ever removed, so a crash at any point needs no repair and no two
 * processes can take over the same stale lock. Throws if the lock is not free within `deadlineMs`.
 */
export async function withStartLock<T>(
  folder: string,
  options: { clock: Clock; deadlineMs: number },
  work: () => Promise<T>,
): Promise<T> {
  const begun = options.clock.elapsed();
  let held = await tryTake(folder);
  while (held === undefined) {
    if (options.clock.elapsed() - begun > options.deadlineMs) {
      throw new EmbeddedPostgresFailed(
        `another process has been starting Postgres in ${folder} for too long`,
      );
    }
    await options.clock.sleep(PAUSE_MS);
    held = await tryTake(folder);
  }
  try {
    return await work();
  } finally {
    await writeFile(held, RELEASED);
  }
}

/** Whether a process works in `folder` under its lock. False for a folder that does not exist. */
export async function isLocked(folder: string): Promise<boolean> {
  const [newest = 0] = await listLocks(folder).catch(() => []);
  return newest > 0 && !(await isFree(join(folder, `lock.${newest}`)));
}

async function listLocks(folder: string): Promise<number[]> {
  const numbers = (await readdir(folder)).map((name) => Number(NAME.exec(name)?.[1] ?? 0));
  return numbers.filter((number) => number > 0).sort((a, b) => b - a);
}

async function isFree(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const holder = parseIdentity(text);
  return holder === undefined || !(await isRunning(holder));
}

let nextDraft = 0;

/** Takes the lock and returns its file, or undefined while another process holds it. */
async function tryTake(folder: string): Promise<string | undefined> {
  const [newest = 0] = await listLocks(folder);
  if (newest > 0 && !(await isFree(join(folder, `lock.${newest}`)))) return undefined;
  const mine = newest + 1;
  const path = join(folder, `lock.${mine}`);
  if (!(await createFile(path, JSON.stringify(await identifyProcess(process.pid))))) return undefined;
  const [highest = mine, ...older] = await listLocks(folder);
  if (highest > mine) {
    // We were too slow: the lock moved on while we checked, and this number had been removed.
    await rm(path, { force: true });
    return undefined;
  }
  for (const number of older) await rm(join(folder, `lock.${number}`), { force: true });
  return path;
}

/** Creates a file that appears with its complete content or not at all. False if it exists. */
async function createFile(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${process.pid}.${nextDraft++}`;
  await writeFile(draft, content);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
