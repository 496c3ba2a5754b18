import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is: a pid alone is handed out again after its process is gone. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** When the process started, in the machine's own count; empty where the machine does not tell. */
  readonly pidStart: string;
}

/** Start of a process in clock ticks since boot, with the boot it belongs to. Linux tells; others do not. */
function readStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // The name, in parentheses, may hold spaces; 20 fields after it stands the start.
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return start === undefined ? '' : `${boot}:${start}`;
  } catch {
    return '';
  }
}

/** This process. */
export function currentProcess(): ProcessIdentity {
  return { host: hostname(), pid: process.pid, pidStart: readStart(process.pid) };
}

/** True when the process is surely gone: on this host, and no process has its pid and start. */
export function isGone(other: ProcessIdentity): boolean {
  if (other.host !== hostname()) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    return error instanceof Error && Reflect.get(error, 'code') === 'ESRCH';
  }
  const start = readStart(other.pid);
  return start !== '' && other.pidStart !== '' && start !== other.pidStart;
}
