import type { Database, Queryable } from '../../src/runtime/database/database.ts';

/** The same database with other queries or transactions; everything else goes straight to it. */
export function replaceCalls(
  database: Database,
  calls: Partial<Pick<Database, 'query' | 'transaction'>>,
): Database {
  return {
    query: (text, params, options) => database.query(text, params, options),
    transaction: (work, options) => database.transaction(work, options),
    lock: (name, onLost) => database.lock(name, onLost),
    ping: (deadlineMs) => database.ping(deadlineMs),
    close: () => database.close(),
    get health() {
      return database.health;
    },
    ...calls,
  };
}

/** What happens around a statement: `run` sends it. */
type Around = (text: string, run: () => Promise<never[]>, params: readonly unknown[]) => Promise<never[]>;

const around = (db: Queryable, act: Around): Queryable => ({
  query: (text, params = [], options) => act(text, () => db.query(text, params, options), params),
});

/** A database whose statements outside of transactions run like this. */
export const aroundQueries = (database: Database, act: Around): Database =>
  replaceCalls(database, around(database, act));

/** A database whose statements run like this, also those in transactions. */
export const aroundStatements = (database: Database, act: Around): Database =>
  replaceCalls(database, {
    ...around(database, act),
    transaction: (work, options) => database.transaction((tx) => work(around(tx, act)), options),
  });
