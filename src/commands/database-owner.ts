import { z } from 'zod';
import type { Clock } from '../runtime/clock/clock.ts';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { openDatabase, type Queryable } from '../runtime/database/database.ts';
import { isLoopbackHost } from '../runtime/http-server/loopback.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { invoke } from './invocation.ts';

/** The comment on the schema `connector` if `npm start` has created it: its data belongs to a simulated service. */
const MARK = 'sandbox of messaging-connector';

/** A database, and what names it, for messages: a setting, or `--data-dir` for an embedded one. */
export interface NamedDatabase {
  readonly url: string;
  readonly setting: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Which parts of a sandbox use a database. */
export interface SandboxUse {
  /** False: only the service. */
  readonly connector: boolean;
}

/**
 * Takes a database for a sandbox, and marks it. It must be empty, marked, or without a connector of a real service if
 * only the simulated service uses it. Nothing is changed otherwise.
 * @throws {ConfigurationError} if its data belongs to somebody else; otherwise what the database throws.
 */
export async function claimForSandbox(named: NamedDatabase, use: SandboxUse): Promise<void> {
  await withDatabase(named, async (db) => {
    const found = await inspect(db);
    const problem = found.isSandbox ? undefined : findOwner(found, use);
    if (problem !== undefined) {
      const instead =
        named.setting === '--data-dir'
          ? `Use another folder: ${invoke('start', '--data-dir .data-2')}`
          : `Remove ${named.setting} from .env or the environment, so that the sandbox uses a Postgres of its own, or set it to an empty database.`;
      throw new ConfigurationError([
        { setting: named.setting, problem: `${problem} It was not changed. ${instead}` },
      ]);
    }
    if (!use.connector || found.isSandbox) return;
    await db.query('create schema if not exists connector');
    await db.query(`comment on schema connector is '${MARK}'`);
  });
}

/**
 * Refuses the database of a sandbox to a connector of its own, which could open none of the secrets in it.
 * @throws {ConfigurationError} if it is one; otherwise what the database throws.
 */
export async function refuseSandbox(named: NamedDatabase): Promise<void> {
  const { isSandbox } = await withDatabase(named, inspect);
  if (!isSandbox) return;
  const instead =
    named.setting === '--data-dir'
      ? `Set DATABASE_URL, or use another folder: ${invoke('connector', '--data-dir .data-connector')}`
      : `Set ${named.setting} to another database. To use this one nevertheless, delete the sandbox: drop schema connector cascade; drop schema if exists platform cascade`;
  throw new ConfigurationError([
    {
      setting: named.setting,
      problem: `is the database of ${invoke('start')}, with the data of a simulated service. ${instead}`,
    },
  ]);
}

/** What a database contains. */
interface Found {
  readonly hasConnector: boolean;
  readonly hasPlatform: boolean;
  readonly isSandbox: boolean;
  /** Schemas with tables of others. */
  readonly foreign: readonly string[];
  /** Addresses of the services of its accounts; null for one that is unknown. */
  readonly services: readonly (string | null)[];
}

/** Whether a database has the tables of a connector that is not that of a sandbox. Throws what the database throws. */
export async function hasOwnConnector(db: Queryable): Promise<boolean> {
  const { hasConnector, isSandbox } = await inspect(db);
  return hasConnector && !isSandbox;
}

/** Where the sandbox of a database listens, or listened last; null if there is none. Throws what the database throws. */
export async function readSandboxUrl(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ value: string }>(
    `select value from platform.sandbox_state where name = 'listens_at'`,
  );
  return row === undefined ? null : (z.url().safeParse(JSON.parse(row.value)).data ?? null);
}

async function inspect(db: Queryable): Promise<Found> {
  const [row] = await db.query<{ connector: boolean; platform: boolean; mark: string | null }>(
    `select to_regclass('connector.applied_migrations') is not null as connector,
            to_regclass('platform.applied_migrations') is not null as platform,
            obj_description(to_regnamespace('connector'), 'pg_namespace') as mark`,
  );
  const foreign = await db.query<{ name: string }>(
    `select distinct n.nspname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname not in ('connector', 'platform', 'information_schema')
        and n.nspname not like 'pg\\_%'
        and not exists (select from pg_depend d
                         where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
      order by 1`,
  );
  const hasConnector = row?.connector === true;
  const services = hasConnector
    ? await db.query<{ url: string | null }>('select base_url as url from connector.accounts')
    : [];
  return {
    hasConnector,
    hasPlatform: row?.platform === true,
    isSandbox: row?.mark === MARK,
    foreign: foreign.map(({ name }) => name),
    services: services.map(({ url }) => url),
  };
}

/** Why a sandbox must not use a database that is not marked; undefined if it may. */
function findOwner(found: Found, use: SandboxUse): string | undefined {
  if (found.hasConnector) {
    const isReal = found.services.some((url) => !isLoopbackHost(URL.parse(url ?? '')?.hostname ?? ''));
    return use.connector || isReal
      ? `contains the data of a connector that ${invoke('connector')} has started, and a simulator must not use it.`
      : undefined;
  }
  if (found.hasPlatform || found.foreign.length === 0) return undefined;
  return `contains tables of other programs (in ${found.foreign.slice(0, 5).join(', ')}), and a simulator must not use it.`;
}

async function withDatabase<Result>(
  { url, clock, logger }: NamedDatabase,
  work: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ url, name: 'owner', poolSize: 1, clock, logger });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
