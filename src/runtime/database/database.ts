import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { prefersPrepared } from './database-url.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded, sqlState } from './errors.ts';
import { Pool } from './pool.ts';
import type { RowMode, Session } from './session.ts';
import { warnOfExposure } from './tls.ts';
import { runTransaction, type TransactionScope } from './transaction.ts';
import { startWatchdog } from './watchdog.ts';

export {
  DatabaseUnavailable,
  isConnectionFailure,
  QueryDeadlineExceeded,
  QueryFailed,
  sqlState,
  TransactionOver,
} from './errors.ts';

/** Runs statements. See `wire-types.ts` for how values are converted. */
export interface Queryable {
  /**
   * Runs one statement and resolves with its rows. Every statement has a deadline; when it passes, the
   * statement is cancelled and its connection closed. Throws `QueryFailed` (the server rejected it),
   * `DatabaseUnavailable` (no connection, or lost) or `QueryDeadlineExceeded`; for the last two,
   * `mayHaveCommitted` states whether the statement may have taken effect.
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]>;
}

export interface QueryOptions {
  /** In a transaction, the deadline of that applies instead. */
  readonly deadlineMs?: number;
  /** `arrays`: each row is an array of its values, in the order of the columns. Default `objects`. */
  readonly rows?: RowMode;
}

/** Counters and gauges worth watching. */
export interface DatabaseHealth {
  readonly generation: number;
  readonly replacedPools: number;
  readonly deadlineHits: number;
  readonly open: number;
  readonly busy: number;
  readonly waiting: number;
}

export interface Database extends Queryable {
  /**
   * Runs `work` between BEGIN and COMMIT; it should contain only SQL. The deadline covers all of it. Once
   * this has rejected, the handle rejects further queries, and nothing that `work` still does has any effect.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: { readonly deadlineMs?: number }): Promise<T>;
  /**
   * Takes a lock of the database by a name, on a connection of its own. Resolves with the function that releases it;
   * with null if another session has it. `onLost` is called once if the connection ends before. Throws what `query`
   * throws.
   */
  lock(name: string, onLost: () => void): Promise<(() => Promise<void>) | null>;
  /** Resolves when the database responds; throws what `query` throws. */
  ping(deadlineMs?: number): Promise<void>;
  readonly health: DatabaseHealth;
  /** Accepts no more queries, lets running ones finish for a few seconds, then closes every connection. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** `application_name` of the connections. */
  readonly name: string;
  /** Default 10. */
  readonly poolSize?: number;
  /** Default deadline of a query or transaction. Default 10 s. */
  readonly deadlineMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How the pool is monitored. Default: a probe after 5 s without a response, with a timeout of 3 s. */
  readonly watchdog?: { readonly everyMs: number; readonly probeMs: number };
}

const DEFAULT_POOL_SIZE = 10;
const DEFAULT_DEADLINE_MS = 10_000;
const CONNECT_DEADLINE_MS = 5_000;
const PING_DEADLINE_MS = 2_000;
const DEFAULT_WATCHDOG = { everyMs: 5_000, probeMs: 3_000 };
const LOCK_WAIT_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** SQLSTATE of a server, or a session default, that is read-only. */
const READ_ONLY = '25006';
/** While the server is read-only, connections are renewed at most this often. */
const RENEW_PAUSE_MS = 250;

/** Opens a guarded pool. No connection is made before the first query. Throws on a malformed URL. */
export function openDatabase(options: DatabaseOptions): Database {
  return new GuardedDatabase(options);
}

class GuardedDatabase implements Database {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #pool: Pool;
  readonly #watchdog: ReturnType<typeof startWatchdog>;
  #deadlineHits = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseOptions) {
    const { url, name, clock, logger } = options;
    warnOfExposure(url, logger);
    this.#clock = clock;
    this.#deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#pool = new Pool({
      session: {
        url,
        name,
        prepare: prefersPrepared(url),
        deadlineMs: this.#deadlineMs,
        connectDeadlineMs: CONNECT_DEADLINE_MS,
        clock,
      },
      size: options.poolSize ?? DEFAULT_POOL_SIZE,
      clock,
      logger,
    });
    this.#watchdog = startWatchdog({
      pool: this.#pool,
      clock,
      logger,
      ...(options.watchdog ?? DEFAULT_WATCHDOG),
    });
  }

  get health(): DatabaseHealth {
    return {
      generation: this.#pool.generation,
      replacedPools: this.#watchdog.replaced,
      deadlineHits: this.#deadlineHits,
      ...this.#pool.counts,
    };
  }

  async query<Row extends object = Record<string, unknown>>(
    text: string,
    params: readonly unknown[] = [],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    const { rows = 'objects', deadlineMs = this.#deadlineMs } = options;
    return asRows<Row>(await this.#run(text, params, rows, deadlineMs));
  }

  async transaction<T>(
    work: (tx: Queryable) => Promise<T>,
    options: { readonly deadlineMs?: number } = {},
  ): Promise<T> {
    const deadlineMs = options.deadlineMs ?? this.#deadlineMs;
    return await this.#withSession(deadlineMs, 'running a transaction', (session) =>
      runTransaction(session, deadlineMs, (scope) => work(queryableOn(scope))),
    );
  }

  async lock(name: string, onLost: () => void): Promise<(() => Promise<void>) | null> {
    const session = await this.#pool.openExtra(CONNECT_DEADLINE_MS);
    try {
      // The connection of a process that was killed may end a moment after it.
      await session.runScript(`set lock_timeout = ${LOCK_WAIT_MS}`);
      await session.run('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
    } catch (error) {
      await session.close();
      if (sqlState(error) === LOCK_NOT_AVAILABLE) return null;
      throw error;
    }
    const forget = session.onEnd(onLost);
    return async () => {
      forget();
      await session.close();
    };
  }

  async ping(deadlineMs = PING_DEADLINE_MS): Promise<void> {
    await this.#run('select 1', [], 'objects', deadlineMs);
  }

  async close(): Promise<void> {
    this.#watchdog.stop();
    await this.#pool.close();
  }

  #run(text: string, params: readonly unknown[], mode: RowMode, deadlineMs: number): Promise<unknown[]> {
    return this.#withSession(deadlineMs, 'running a query', (session) =>
      session.runAlone(text, params, { mode, deadlineMs: Math.max(deadlineMs, this.#deadlineMs) }),
    );
  }

  /** Lends a session to `work`, and ends it if `work` has not finished by the deadline. */
  async #withSession<T>(
    deadlineMs: number,
    phase: string,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const begun = this.#clock.elapsed();
    const session = await this.#acquire(deadlineMs);
    const left = Math.max(1, deadlineMs - (this.#clock.elapsed() - begun));
    const stop = this.#clock.after(left, () => {
      this.#noteDeadline();
      session.end(new QueryDeadlineExceeded(deadlineMs, phase, false));
    });
    try {
      return await work(session);
    } catch (error) {
      if (sqlState(error) === READ_ONLY) this.#renewConnections();
      throw error;
    } finally {
      stop();
      this.#pool.release(session);
    }
  }

  async #acquire(deadlineMs: number): Promise<Session> {
    try {
      return await this.#pool.acquire(deadlineMs);
    } catch (error) {
      if (error instanceof QueryDeadlineExceeded) this.#noteDeadline();
      throw error;
    }
  }

  /**
   * A session keeps the server and the defaults that it started with; a new session gets the current ones.
   */
  #renewConnections(): void {
    const now = this.#clock.elapsed();
    if (now - this.#renewedAt < RENEW_PAUSE_MS) return;
    this.#renewedAt = now;
    this.#pool.replace(new DatabaseUnavailable('lost', 'the server is read-only'), 'idle');
  }

  #noteDeadline(): void {
    this.#deadlineHits += 1;
    this.#watchdog.suspect();
  }
}

/** The handle passed to the callback of a transaction. */
function queryableOn(scope: TransactionScope): Queryable {
  return {
    query: async <Row extends object = Record<string, unknown>>(
      text: string,
      params: readonly unknown[] = [],
      options: QueryOptions = {},
    ): Promise<Row[]> => asRows<Row>(await scope.run(text, params, options.rows ?? 'objects')),
  };
}

/** The statement determines the shape of a row; nothing checks it here. */
function asRows<Row extends object>(rows: unknown[]): Row[] {
  return rows as Row[];
}
