import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is: a pid alone is handed out again after its process is gone. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Where its pid counts and when it started; empty where the machine does not tell. */
  readonly pidStart: string;
}

const SEPARATOR = '|';

/** The boot and the pid namespace in which this process sees pids. Linux tells; others do not. */
function readPidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}${SEPARATOR}${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** When a process started, in clock ticks since boot; empty for none. */
function readStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces; 20 fields after it stands the start.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** This process. */
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
 * True when a process is surely gone: this process would see its pid, and no process has that pid with that
 * start. Of another host, boot or container nothing is sure.
 */
export function isGone(other: ProcessIdentity): boolean {
  if (other.host !== hostname()) return false;
  const space = readPidSpace();
  if (other.pidStart === '' || space === '') return other.pidStart === space && !exists(other.pid);
  const end = other.pidStart.lastIndexOf(SEPARATOR);
  if (other.pidStart.slice(0, end) !== space) return false;
  return readStart(other.pid) !== other.pidStart.slice(end + 1);
}
