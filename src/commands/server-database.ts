import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Secret } from '../runtime/config/secret.ts';
import { startEmbeddedPostgres } from '../runtime/database/embedded.ts';
import { migrateDatabase } from '../runtime/database/migrate.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { refuseSandbox } from './database-owner.ts';
import { invoke } from './invocation.ts';

/** The database server that a command uses. */
export interface ServerDatabase {
  readonly url: string;
  /** A note for people: the folder of an embedded server, and why it is there. */
  readonly note: string;
  /** Leaves an embedded server; the last process to leave stops it. */
  close(): Promise<void>;
}

/** Contains a folder with the migrations of each half. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../drizzle/', import.meta.url));

/** The server of `url`, or a real Postgres in `dataDir` if there is none. */
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
  const state = server.joined ? 'joined the running server' : 'started';
  const note = `embedded Postgres, ${state}; ${server.note ?? `data in ${server.location}`}`;
  return { url: server.url, note, close: async () => void (await server.stop()) };
}

/**
 * The server of a connector that is started by itself.
 * @throws {ConfigurationError} if it is the database of an `npm start`.
 */
export async function openConnectorDatabase(
  options: Parameters<typeof openServerDatabase>[0],
): Promise<ServerDatabase> {
  const { url, clock, logger } = options;
  const server = await openServerDatabase(options);
  const setting = url === undefined ? '--data-dir' : 'DATABASE_URL';
  if (url === undefined)
    logger.warn(
      { location: options.dataDir },
      'DATABASE_URL is not set: the data is in an embedded Postgres on this machine only, without a backup. Set it in production',
    );
  try {
    await refuseSandbox({ url: server.url, setting, clock, logger });
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** The command line that starts a service next to a running one. `url` is the database of the running one. */
export function howToStartAnother(command: 'start' | 'platform', url: Secret | undefined): string {
  const words = invoke(
    command,
    url === undefined ? '--data-dir .data-2 --port-base 4200' : '--port-base 4200',
  );
  return url === undefined ? words : `PLATFORM_DATABASE_URL=postgres://… ${words}`;
}

/** Migrates one half's Postgres schema to the newest version. */
export async function migrateSchema(
  schema: 'connector' | 'platform',
  options: { readonly url: string; readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  await migrateDatabase({ ...options, schema, folder: join(MIGRATIONS_FOLDER, schema) });
}
