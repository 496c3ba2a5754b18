import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What Postgres writes about itself into `postmaster.pid`, its own lock on the data. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** It accepts connections. False while it starts, recovers or stops. */
  readonly ready: boolean;
}

const run = promisify(execFile);

/** From its file, whether or not it still runs. */
export async function readPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), ready: (lines[7] ?? '').trim() === 'ready' };
}

/** The server that runs on this data; undefined if there is none, or if its pid belongs to another process now. */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const server = await readPostmaster(cluster);
  return server !== undefined && (await isServing(server.pid, cluster)) ? server : undefined;
}

/** Whether a process is a server of this data. */
export async function isServing(pid: number, cluster: string): Promise<boolean> {
  if (!exists(pid)) return false;
  // Windows does not tell the command line of a process.
  return process.platform === 'win32' || (await readCommand(pid)).includes(cluster);
}

export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is running, as another user.
    return error instanceof Error && Reflect.get(error, 'code') === 'EPERM';
  }
}

/** The command line of a process; empty for a zombie, or if it cannot be read. */
async function readCommand(pid: number): Promise<string> {
  if (process.platform === 'linux') return await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const listed = run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  return await listed.then(({ stdout }) => stdout).catch(() => '');
}
