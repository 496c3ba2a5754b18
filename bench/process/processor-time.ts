import { readFile } from 'node:fs/promises';
import postgres from 'postgres';

/** Milliseconds of processor time that processes have used, user and system together. */
export interface ProcessorTimes {
  readonly node: number;
  readonly postgres: number;
}

/** What Linux counts in on every architecture that Node runs on. */
const TICK_MS = 10;
const FIELD_OF_USER_TIME = 14;

/** Whose time is read. */
export interface TimedProcesses {
  readonly pid: number | undefined;
  /** Its backends are counted. Empty: there are none. */
  readonly databaseUrl: string;
  /** The processes of Postgres that write for everybody are counted too. */
  readonly writers: boolean;
}

/**
 * Reads what a Node process and the backends of a database have used until now. Undefined where it cannot be
 * read: on another system than Linux, or for a Postgres on another machine.
 */
export async function readProcessorTimes(of: TimedProcesses): Promise<ProcessorTimes | undefined> {
  const node = await readTicks(of.pid, undefined);
  if (node === undefined) return undefined;
  const backends = await Promise.all((await listBackends(of)).map((pid) => readTicks(pid, 'postgres')));
  if (backends.includes(undefined)) return undefined;
  const ticks = backends.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return { node: node * TICK_MS, postgres: ticks * TICK_MS };
}

async function listBackends({ databaseUrl, writers }: TimedProcesses): Promise<readonly number[]> {
  if (databaseUrl === '') return [];
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const rows = await sql<{ pid: number }[]>`
      SELECT pid FROM pg_stat_activity
       WHERE (datname = current_database() OR (datname IS NULL AND ${writers})) AND pid <> pg_backend_pid()`;
    return rows.map(({ pid }) => pid);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The name stands in parentheses and may hold anything, so fields are counted from the last one of these. */
async function readTicks(pid: number | undefined, name: string | undefined): Promise<number | undefined> {
  if (pid === undefined) return undefined;
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const end = text.lastIndexOf(')');
  if (name !== undefined && text.slice(text.indexOf('(') + 1, end) !== name) return undefined;
  const fields = text.slice(end + 2).split(' ');
  const first = FIELD_OF_USER_TIME - 3;
  return Number(fields[first]) + Number(fields[first + 1]);
}
