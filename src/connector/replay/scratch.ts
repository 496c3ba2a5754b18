import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';

/** Tables of its own, in which the inbox is merged once more. */
export interface Scratch {
  readonly schema: string;
  /** The connector's statements, on these tables in place of the live ones. */
  readonly db: Queryable;
  /** Forgets the changes that merging makes: nobody reads them. */
  forgetChanges(): Promise<void>;
  drop(): Promise<void>;
}

const PREFIX = 'connector_replay_';
/** A replay that is older was killed, and left its tables behind. */
const ABANDONED_MS = 24 * 3_600_000;
const DEADLINE_MS = 10 * 60_000;
/** What the merge writes. Types and functions are shared with the live schema. */
const REPLACED = /\bconnector\.(messages|connections|changes|change_batches|change_batch_id|inbox)\b/g;

/**
 * Makes empty tables for one replay, unlogged: they are worth nothing after a crash. Connections come along as they
 * are, since they say whose messages are merged. Tables that a killed replay left a day ago go. Throws as `query`
 * does; the user of the database must be allowed to make a schema.
 */
export async function makeScratch(database: Database, clock: Clock): Promise<Scratch> {
  const now = clock.now();
  await dropAbandoned(database, now);
  const schema = `${PREFIX}${now}_${process.pid}`;
  const drop = async (): Promise<void> => {
    await database.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`, [], { deadlineMs: DEADLINE_MS });
  };
  try {
    for (const statement of makeTables(schema))
      await database.query(statement, [], { deadlineMs: DEADLINE_MS });
  } catch (error) {
    await drop().catch(() => undefined);
    throw error;
  }
  return {
    schema,
    db: {
      query: (text, params, options) =>
        database.query(text.replaceAll(REPLACED, `${schema}.$1`), params, {
          deadlineMs: DEADLINE_MS,
          ...options,
        }),
    },
    async forgetChanges() {
      await database.query(`TRUNCATE ${schema}.changes, ${schema}.change_batches`);
    },
    drop,
  };
}

function makeTables(schema: string): string[] {
  const plain = ['changes', 'change_batches', 'inbox'].map(
    (table) => `CREATE UNLOGGED TABLE ${schema}.${table} (LIKE connector.${table})`,
  );
  return [
    `CREATE SCHEMA ${schema}`,
    `CREATE SEQUENCE ${schema}.change_batch_id`,
    ...plain,
    // The live table numbers its rows by a sequence; here none is ever written.
    `ALTER TABLE ${schema}.inbox ALTER COLUMN id DROP NOT NULL`,
    `CREATE UNLOGGED TABLE ${schema}.messages (LIKE connector.messages, PRIMARY KEY (id, connection_id))`,
    `CREATE UNLOGGED TABLE ${schema}.connections (LIKE connector.connections INCLUDING DEFAULTS, PRIMARY KEY (connection_id))`,
    `INSERT INTO ${schema}.connections SELECT * FROM connector.connections`,
  ];
}

async function dropAbandoned(database: Database, now: number): Promise<void> {
  const rows = await database.query<{ name: string }>(
    `SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, $1)`,
    [PREFIX],
  );
  for (const { name } of rows) {
    const madeAt = /^connector_replay_(\d+)_\d+$/.exec(name)?.[1];
    if (madeAt === undefined || now - Number(madeAt) < ABANDONED_MS) continue;
    await database.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`, [], { deadlineMs: DEADLINE_MS });
  }
}
