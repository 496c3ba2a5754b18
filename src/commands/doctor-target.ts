import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExamineOptions } from '../connector/doctor/examine.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { type Database, openDatabase } from '../runtime/database/database.ts';
import { describeLocation } from '../runtime/database/database-url.ts';
import { findEmbeddedPostgres } from '../runtime/database/embedded/find-running.ts';
import { createLogger } from '../runtime/logger/logger.ts';
import { hasOwnConnector, readSandboxUrl } from './database-owner.ts';
import { readLoopEnvironment } from './loop-environment.ts';

const POOL_SIZE = 2;
const QUERY_MS = 8_000;

/** A running `npm start`: the address of its sandbox, and the settings that it generated for its connector. */
export interface RunningLoop {
  readonly sandboxUrl: string;
  readonly environment: Environment;
}

/** The `npm start` that runs on the data of a folder; null if none does. Changes nothing. */
export async function findLoop(env: Environment, dataDir: string, clock: Clock): Promise<RunningLoop | null> {
  const secretsFile = join(dataDir, 'secrets.json');
  if (!existsSync(secretsFile)) return null;
  const found = await findEmbeddedPostgres(dataDir);
  const url =
    env['PLATFORM_DATABASE_URL'] || env['DATABASE_URL'] || (found.kind === 'running' ? found.url : undefined);
  if (url === undefined) return null;
  return await ask(url, clock, async (database) => {
    const sandboxUrl = await readSandboxUrl(database);
    if (sandboxUrl === null) return null;
    return { sandboxUrl, environment: await readLoopEnvironment(sandboxUrl, secretsFile) };
  });
}

/** The database to check, and what names it. */
export type Store = Pick<ExamineOptions, 'database' | 'whichDatabase' | 'whyNoDatabase'>;

/**
 * The database of the settings, or the first running embedded one of the folders, preferably with a connector that is
 * not that of a sandbox. Starts nothing.
 */
export async function findStore(
  url: string | undefined,
  folders: readonly string[],
  clock: Clock,
): Promise<Store> {
  if (url !== undefined)
    return { database: open(url, clock), whichDatabase: `DATABASE_URL names ${nameOf(url)}.` };
  let reason = '';
  let other: (() => Store) | undefined;
  for (const folder of folders) {
    const found = await findEmbeddedPostgres(folder);
    if (found.kind !== 'running') {
      reason ||=
        found.kind === 'stopped'
          ? `DATABASE_URL is not set, and the Postgres in ${found.location} is not running, so no process of the connector is running either. Start the connector and run the doctor again.`
          : `DATABASE_URL is not set, and there is no data in ${folder}. Run the doctor where the connector runs, with its .env.`;
      continue;
    }
    const store = (): Store => ({
      database: open(found.url, clock),
      whichDatabase: `DATABASE_URL is not set, so this is the embedded Postgres of ${folder}.`,
    });
    if (folders.length === 1 || (await ask(found.url, clock, hasOwnConnector))) return store();
    other ??= store;
  }
  return other?.() ?? { database: null, whyNoDatabase: reason };
}

/** What a database says; null if it cannot be asked. */
async function ask<T>(url: string, clock: Clock, question: (of: Database) => Promise<T>): Promise<T | null> {
  const database = open(url, clock);
  return await question(database)
    .catch(() => null)
    .finally(() => database.close());
}

function nameOf(url: string): string {
  try {
    return describeLocation(url);
  } catch {
    return 'no valid address';
  }
}

function open(url: string, clock: Clock): Database {
  return openDatabase({
    url,
    name: 'connector-doctor',
    poolSize: POOL_SIZE,
    deadlineMs: QUERY_MS,
    clock,
    logger: createLogger({ level: 'silent', name: 'doctor' }),
  });
}
