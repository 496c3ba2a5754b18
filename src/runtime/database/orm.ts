import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { PreparedQueryConfig } from 'drizzle-orm/pg-core/session';
import { PgRemoteDatabase, PgRemoteSession, type PreparedQuery } from 'drizzle-orm/pg-proxy';
import type { Queryable } from './database.ts';

type Tables = Record<string, never>;
// biome-ignore lint/suspicious/noExplicitAny: the parameters of a generic method, for every type argument.
type PrepareArguments = Parameters<typeof PgRemoteSession.prototype.prepareQuery<any>>;

/** By handle and deadline. */
const opened = new WeakMap<Queryable, Map<number | undefined, PgRemoteDatabase>>();

/**
 * drizzle over `db`, which may be a pool or a transaction: the schema types parameters and rows, and every
 * statement has the deadline, the value rules and the errors of `Queryable.query`. Transactions are started with
 * `Database.transaction`; drizzle's own `transaction` throws. `deadlineMs` is that of each statement, as in
 * `Queryable.query`.
 */
export function orm(db: Queryable, deadlineMs?: number): PgRemoteDatabase {
  const byDeadline = opened.get(db) ?? new Map<number | undefined, PgRemoteDatabase>();
  opened.set(db, byDeadline);
  const known = byDeadline.get(deadlineMs);
  if (known !== undefined) return known;
  const deadline = deadlineMs === undefined ? {} : { deadlineMs };
  const dialect = new PgDialect();
  const session = new QueryableSession(
    async (text, params, method) => ({
      rows: await db.query(text, params, {
        rows: method === 'execute' ? 'objects' : 'arrays',
        ...deadline,
      }),
    }),
    dialect,
    undefined,
  );
  const database = new PgRemoteDatabase(dialect, session, undefined);
  byDeadline.set(deadlineMs, database);
  return database;
}

/**
 * True where `column` is one of `values`. They are one parameter, an array: unlike `inArray`, any number of values is
 * the same statement.
 */
export function isAnyOf(column: SQLWrapper, values: readonly (string | number)[]): SQL {
  return sql`${column} = any(${sql.param(values)})`;
}

/** Throws the database's own errors. drizzle's wrapper has every parameter in its message. */
class QueryableSession extends PgRemoteSession<Tables, Tables> {
  override prepareQuery<T extends PreparedQueryConfig>(...args: PrepareArguments): PreparedQuery<T> {
    const prepared = super.prepareQuery<T>(...args);
    const execute = prepared.execute.bind(prepared);
    prepared.execute = async (values) => {
      try {
        return await execute(values);
      } catch (error) {
        throw error instanceof DrizzleQueryError ? error.cause : error;
      }
    };
    return prepared;
  }
}
