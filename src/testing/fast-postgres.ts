import postgres from 'postgres';
import { systemClock } from '../runtime/clock/system-clock.ts';
import type { Binaries } from '../runtime/database/embedded/programs.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../runtime/database/embedded.ts';
import { createLogger } from '../runtime/logger/logger.ts';

/** Nothing waits for a disk: a crash of the machine may damage the data, which tests can do without. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '600', scram_iterations: '1' };

/**
 * Starts the embedded Postgres in a folder, or joins it, with settings for tests. With `binaries`, another Postgres with
 * its default settings. `name`: that of this user. Throws `EmbeddedPostgresFailed`.
 */
export async function startFastPostgres(
  dataDir: string,
  { binaries, name }: { readonly binaries?: Binaries | undefined; readonly name?: string } = {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    logger: createLogger({ level: 'warn', name: 'testing', destination: 'stderr' }),
    ...(name === undefined ? {} : { name }),
    ...(binaries === undefined ? { settings: SETTINGS } : { binaries }),
  });
  if (!server.joined && binaries === undefined) await renewPassword(server);
  return server;
}

/** Stores the password once more, with as few rounds as the settings allow: tests connect thousands of times. */
async function renewPassword({ url }: EmbeddedPostgres): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await sql.unsafe(`alter role current_user password '${new URL(url).password}'`);
  await sql.end();
}
