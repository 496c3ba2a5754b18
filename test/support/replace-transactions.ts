import type { Database } from '../../src/runtime/database/database.ts';

/** The same database with other transactions; everything else goes straight to it. */
export function replaceTransactions(database: Database, transaction: Database['transaction']): Database {
  return {
    transaction,
    query: (text, params, options) => database.query(text, params, options),
    lock: (name, onLost) => database.lock(name, onLost),
    ping: (deadlineMs) => database.ping(deadlineMs),
    close: () => database.close(),
    get health() {
      return database.health;
    },
  };
}
