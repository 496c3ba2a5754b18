import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Secret } from '../runtime/config/secret.ts';
import { startEmbeddedPostgres } from '../runtime/database/embedded.ts';
import { migrateDatabase } from '../runtime/database/migrate.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { invoke } from './invocation.ts';

/** Where a command keeps its data. */
export interface ServerDatabase {
  readonly url: string;
  /** What a person should know of it: the folder of an embedded server, and why it lies there. */
  readonly note: string;
  /** Leaves an embedded server; the last one to leave stops it. */
  close(): Promise<void>;
}

const MIGRATIONS = new URL('../../drizzle/', import.meta.url);

/** The server of `url`, or a real Postgres under `dataDir` when there is none. */
export async function openServerDatabase(options: {
  readonly url: Secret | undefined;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}): Promise<ServerDatabase> {
  const { url, dataDir, clock, logger } = options;
  if (url !== undefined) {
    return { url: url.reveal(), note: 'Postgres of DATABASE_URL', close: () => Promise.resolve() };
  }
  const server = await startEmbeddedPostgres({ dataDir, clock, logger });
  const state = server.joined ? 'joined the one that runs' : 'started';
  const note = `Postgres of its own, ${state}; ${server.note ?? `data in ${server.location}`}`;
  return { url: server.url, note, close: () => server.stop() };
}

/** The command line that starts a service beside one that runs. `url` is the database that this one was given. */
export function howToStartAnother(command: 'start' | 'platform', url: Secret | undefined): string {
  const words = invoke(
    command,
    url === undefined ? '--data-dir .data-2 --port-base 4200' : '--port-base 4200',
  );
  return url === undefined ? words : `PLATFORM_DATABASE_URL=postgres://… ${words}`;
}

/** Brings one half's Postgres schema to the newest migration. */
export async function migrateSchema(
  schema: 'connector' | 'platform',
  options: { readonly url: string; readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  await migrateDatabase({ ...options, schema, folder: join(fileURLToPath(MIGRATIONS), schema) });
}
