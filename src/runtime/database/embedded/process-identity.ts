import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Identifies a process, even if its pid is reused later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it was started, in the format of the system; empty if the system has none. */
  readonly started: string;
}

const run = promisify(execFile);

/** Text form of a stored identity. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const pid: unknown = Reflect.get(parsed, 'pid');
    const started: unknown = Reflect.get(parsed, 'started');
    return Number.isSafeInteger(pid) && typeof started === 'string'
      ? { pid: Number(pid), started }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The process that currently has this pid; undefined if there is none, or only a zombie. */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | undefined> {
  if (!exists(pid)) return undefined;
  if (process.platform === 'linux') return await identifyOnLinux(pid);
  if (process.platform === 'win32') return { pid, started: '' };
  const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  const started = stdout.trim();
  return started === '' || started.startsWith('Z')
    ? undefined
    : { pid, started: started.replace(/^\S+\s+/, '') };
}

/** True while exactly this process is running. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  const now = await identifyProcess(identity.pid);
  return now !== undefined && now.started === identity.started;
}

/** The command line of a process; undefined if it cannot be read. */
export async function readCommand(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
    return command?.replaceAll('\0', ' ');
  }
  if (process.platform === 'win32') return undefined;
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout === '' ? undefined : stdout;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is running, as another user.
    return error instanceof Error && Reflect.get(error, 'code') === 'EPERM';
  }
}

/** The start in clock ticks since boot, together with the boot id: pids are reused after a reboot. */
async function identifyOnLinux(pid: number): Promise<ProcessIdentity | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status === undefined) return { pid, started: '' };
  // The name in parentheses may contain anything; the state is the first field after it, the start time the
  // twentieth.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const ticks = fields[19];
  if (state === 'Z' || state === 'X' || ticks === undefined) return undefined;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return { pid, started: `${ticks}@${boot.trim()}` };
}
