import { Redis } from 'ioredis';
import postgres from 'postgres';

/** Every row of every table of a database, as text; bytes also decoded as text. */
export async function dumpDatabase(url: string): Promise<string> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const tables = await sql<{ name: string }[]>`
      select format('%I.%I', n.nspname, c.relname) as name from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'm') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
       order by 1`;
    const parts: string[] = [];
    for (const { name } of tables) {
      const rows = await sql.unsafe<{ row: string }[]>(`select to_jsonb(t)::text as row from ${name} t`);
      parts.push(`\n== ${name}`, ...rows.map(({ row }) => revealBytes(row)));
    }
    return parts.join('\n');
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Runs one statement, bypassing all guards of the store. */
export async function changeDatabase(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Postgres writes bytes as hexadecimal digits. */
function revealBytes(row: string): string {
  const texts = [...row.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex = '']) =>
    Buffer.from(hex, 'hex').toString('latin1'),
  );
  return [row, ...texts].join('\n');
}

/** Records all commands that a Redis receives, and what it holds. Start it without `rdbcompression`. */
export async function watchRedis(url: string): Promise<{ dump(): Promise<string>; close(): void }> {
  const redis = new Redis(url);
  const monitor = await redis.monitor();
  const said: string[] = [];
  monitor.on('monitor', (_time: string, command: string[]) => said.push(command.join(' ')));
  return {
    async dump() {
      const held: string[] = [];
      for (const key of await redis.keys('*')) {
        const value = await redis.dumpBuffer(key);
        held.push(`${key} ${value?.toString('latin1') ?? ''}`);
      }
      return [...said, ...held].join('\n');
    },
    close() {
      monitor.disconnect();
      redis.disconnect();
    },
  };
}
