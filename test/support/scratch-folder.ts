import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';
const GIB = 1024 ** 3;
/** More than any run has needed. */
const ROOM_BYTES = 4 * GIB;
/** Files there count as memory, of which the tests themselves need some. */
const MEMORY_BYTES = ROOM_BYTES + 4 * GIB;

/**
 * The folder for a run's temporary files: in memory if there is room and programs can run from it, else the
 * system's. A database is a thousand small files, and creating one takes half a second on a slow disk.
 */
export async function chooseScratchFolder(): Promise<string> {
  return (await hasRoom(MEMORY)) && (await runsPrograms(MEMORY)) ? MEMORY : tmpdir();
}

/** Every folder in which a run may have left files. */
export function listScratchFolders(): string[] {
  return [...new Set([MEMORY, tmpdir()])].filter(existsSync);
}

async function hasRoom(folder: string): Promise<boolean> {
  if (process.availableMemory() < MEMORY_BYTES) return false;
  const found = await statfs(folder).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize >= ROOM_BYTES;
}

/** Containers often mount it `noexec`, and tests install packages and run them. */
async function runsPrograms(folder: string): Promise<boolean> {
  const made = await mkdtemp(join(folder, 'messaging-connector-probe-')).catch(() => undefined);
  if (made === undefined) return false;
  const program = join(made, 'program');
  try {
    await writeFile(program, '#!/bin/sh\n');
    await chmod(program, 0o755);
    await promisify(execFile)(program);
    return true;
  } catch {
    return false;
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
