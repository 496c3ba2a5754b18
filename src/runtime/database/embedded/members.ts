import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identifyProcess, isRunning, parseIdentity } from './process-identity.ts';

let nextMember = 0;

/**
 * The processes that use a server: one file each. The file survives a crash but is then ignored, because it
 * identifies the process by its start time. Must be called under the start lock.
 */
export async function joinMembers(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  nextMember += 1;
  const file = join(folder, `${process.pid}-${nextMember}.json`);
  await writeFile(file, JSON.stringify(await identifyProcess(process.pid)));
  return file;
}

/** Removes one member and returns how many are still running. Must be called under the start lock. */
export async function leaveMembers(folder: string, file: string): Promise<number> {
  await rm(file, { force: true });
  return await countMembers(folder);
}

/** Returns how many members are still running, and removes the others. Must be called under the start lock. */
export async function countMembers(folder: string): Promise<number> {
  let running = 0;
  for (const name of await readdir(folder)) {
    const member = join(folder, name);
    const identity = parseIdentity(await readFile(member, 'utf8').catch(() => ''));
    if (identity !== undefined && (await isRunning(identity))) running += 1;
    else await rm(member, { force: true });
  }
  return running;
}
