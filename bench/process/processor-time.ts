import { readFile } from 'node:fs/promises';
import postgres from 'postgres';

/** Milliseconds of processor time that processes have used, user and system together. */
export interface ProcessorTimes {
  readonly node: number;
  readonly postgres: number;
}

/** What Linux counts in on every architecture that Node runs on. */
const TICK_MS = 10;

/** Whose time is read. */
interface TimedProcesses {
  readonly pid: number | undefined;
  /** Its backends are counted, and the processes of Postgres that write for everybody. Empty: there are none. */
  readonly databaseUrl: string;
}

/**
 * Resolves with a function that tells what a Node process and the backends of a database have used since. Undefined
 * where it cannot be read: on another system than Linux, or for a Postgres on another machine.
 */
export async function startTiming(of: TimedProcesses): Promise<() => Promise<ProcessorTimes | undefined>> {
  const before = await readTimes(of);
  return async () => {
    const after = await readTimes(of);
    if (before === undefined || after === undefined) return undefined;
    return { node: after.node - before.node, postgres: after.postgres - before.postgres };
  };
}

async function readTimes(of: TimedProcesses): Promise<ProcessorTimes | undefined> {
  const node = await readTicks(of.pid);
  if (node === undefined) return undefined;
  const backends = await Promise.all((await listBackends(of)).map((pid) => readTicks(pid, 'postgres')));
  if (backends.includes(undefined)) return undefined;
  const ticks = backends.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return { node: node * TICK_MS, postgres: ticks * TICK_MS };
}

async function listBackends({ databaseUrl }: TimedProcesses): Promise<readonly number[]> {
  if (databaseUrl === '') return [];
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const rows = await sql<{ pid: number }[]>`
      SELECT pid FROM pg_stat_activity
       WHERE (datname = current_database() OR datname IS NULL) AND pid <> pg_backend_pid()`;
    return rows.map(({ pid }) => pid);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The name stands in parentheses and may hold anything; user and system time are the 14th and 15th field. */
const STAT = /^\d+ \((.*)\) (?:\S+ ){11}(\d+) (\d+) /s;

async function readTicks(pid: number | undefined, name?: string): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [, found, user, system] = STAT.exec(text) ?? [];
  return found === undefined || found !== (name ?? found) ? undefined : Number(user) + Number(system);
}
