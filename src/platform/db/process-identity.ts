import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** The identity of a process. The pid is not sufficient, because pids are reused. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Boot, pid namespace and start time; empty if the system does not provide them. */
  readonly pidStart: string;
}

const SEPARATOR = '|';

/** The boot and pid namespace of this process, on Linux; empty on other systems. */
function readPidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}${SEPARATOR}${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** When a process started, in clock ticks since boot; empty if there is no such process. */
function readStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may contain spaces. The start time is the 20th field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

export function currentProcess(): ProcessIdentity {
  const space = readPidSpace();
  const pidStart = space === '' ? '' : `${space}${SEPARATOR}${readStart(process.pid)}`;
  return { host: hostname(), pid: process.pid, pidStart };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && Reflect.get(error, 'code') === 'ESRCH');
  }
}

/**
 * Whether a process runs: it is gone if it ran in this pid namespace, and no process has its pid and start time. Of a
 * process of another host, boot or container, this cannot be known.
 */
export function findState(other: ProcessIdentity): 'running' | 'gone' | 'unknown' {
  if (other.host !== hostname()) return 'unknown';
  const space = readPidSpace();
  if (other.pidStart === '' || space === '') {
    if (other.pidStart !== space) return 'unknown';
    return exists(other.pid) ? 'running' : 'gone';
  }
  const end = other.pidStart.lastIndexOf(SEPARATOR);
  if (other.pidStart.slice(0, end) !== space) return 'unknown';
  return readStart(other.pid) === other.pidStart.slice(end + 1) ? 'running' : 'gone';
}
