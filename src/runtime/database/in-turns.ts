import type { Turns } from '../turns/turns.ts';
import type { Database } from './database.ts';

/** The same database for callers that take turns, so that however many there are, they leave connections to others. */
export function inTurns(database: Database, turns: Turns): Database {
  return {
    query: (text, params, options) => turns.run(() => database.query(text, params, options)),
    transaction: (work, options) => turns.run(() => database.transaction(work, options)),
    lock: (name, onLost) => database.lock(name, onLost),
    ping: (deadlineMs) => database.ping(deadlineMs),
    get health() {
      return database.health;
    },
    close: () => database.close(),
  };
}
