import type { Socket } from 'node:net';
import postgres from 'postgres';
import type { Clock } from '../clock/clock.ts';
import { InFlight } from '../in-flight/in-flight.ts';
import type { Addresses } from './connect-socket.ts';
import { describeLocation } from './database-url.ts';
import { DatabaseUnavailable, markUnknown, QueryFailed } from './errors.ts';
import { explainConnectFailure, explainQueryFailure } from './explain-failure.ts';
import type { BackendKey } from './send-cancel-request.ts';
import { beginTransaction, sessionLimits, sessionParameters } from './session-parameters.ts';
import { SessionSocket } from './session-socket.ts';
import { type Tls, tlsOf } from './tls.ts';
import { encodeParam, wireTypes } from './wire-types.ts';

export interface SessionOptions {
  readonly url: string;
  /** `application_name`, shown in `pg_stat_activity`. */
  readonly name: string;
  /** Default timeout of a statement. */
  readonly deadlineMs: number;
  /** False behind a pooler in transaction mode: no named statements and no session settings. */
  readonly prepare: boolean;
  readonly connectDeadlineMs: number;
  readonly clock: Clock;
  /** Called with the payload of each notification of a channel that the session listens to. */
  readonly onNotify?: (payload: string) => void;
}

export type RowMode = 'objects' | 'arrays';

/** A statement of the driver: a promise of its result that also knows the backend's key. */
type DriverQuery = PromiseLike<unknown> & { readonly state?: BackendKey | null };

interface Running {
  readonly fail: (error: Error) => void;
  readonly query: DriverQuery;
  /** True if this statement decides on its own whether something is committed. */
  readonly decisive: boolean;
}

const OLDEST_MAJOR = 15;

/**
 * One connection to Postgres, and never another. By default the driver reconnects behind its caller's back,
 * and a statement meant for a transaction would then run outside it; therefore the socket is handed out here,
 * only once. A session that loses its socket is over: everything in flight on it is rejected at once, and so
 * is everything later.
 */
export class Session {
  readonly openedAt: number;
  readonly #options: SessionOptions;
  readonly #client: postgres.Sql;
  readonly #running = new InFlight<Running>();
  readonly #endListeners = new Set<(reason: Error) => void>();
  readonly #socket: SessionSocket;
  #limitMs: number;
  #end: Error | undefined;
  #gone: Promise<void> = Promise.resolve();

  private constructor(options: SessionOptions) {
    this.#options = options;
    this.#limitMs = options.deadlineMs;
    const tls = tlsOf(options.url);
    this.#socket = new SessionSocket(options.clock, tls);
    this.openedAt = options.clock.elapsed();
    const settings = {
      max: 1,
      ssl: driverTls(tls),
      prepare: options.prepare,
      fetch_types: false,
      types: wireTypes(),
      idle_timeout: 0,
      max_lifetime: 0,
      connect_timeout: 0,
      connection: sessionParameters(options),
      onnotice: () => undefined,
      onnotify: (_channel: string, payload: string) => options.onNotify?.(payload),
      onclose: () => this.end(new DatabaseUnavailable('lost', 'the connection to the database was lost')),
      socket: (addresses: Addresses) => this.#openSocket(addresses),
    };
    this.#client = postgres(options.url, settings);
  }

  /** Connects, authenticates and checks the server's version. Throws `DatabaseUnavailable`. */
  static async open(options: SessionOptions, signal?: AbortSignal): Promise<Session> {
    const { url, connectDeadlineMs, clock } = options;
    const session = new Session(options);
    const abort = (): void => session.end(new DatabaseUnavailable('closed', 'this database was closed'));
    signal?.addEventListener('abort', abort, { once: true });
    const stop = clock.after(connectDeadlineMs, () => {
      const what = `no response from Postgres at ${describeLocation(url)} within ${connectDeadlineMs} ms`;
      session.end(
        new DatabaseUnavailable('unreachable', `${what}; check that the host is correct and reachable`),
      );
    });
    try {
      await session.run('select 1', []);
      session.#socket.refuse(new DatabaseUnavailable('lost', 'the connection to the database was lost'));
      session.#refuseOldServer();
      return session;
    } catch (error) {
      const explained = explainConnectFailure(session.#end ?? error, url);
      session.end(explained);
      await session.#gone;
      throw explained;
    } finally {
      stop();
      signal?.removeEventListener('abort', abort);
    }
  }

  /** False once the connection is gone or was ended. */
  get alive(): boolean {
    return this.#end === undefined;
  }

  /** Runs one statement. Rejects when the session ends; to enforce a deadline, end the session. */
  async run(
    text: string,
    params: readonly unknown[],
    options: { mode?: RowMode; decisive?: boolean } = {},
  ): Promise<unknown[]> {
    const encoded = params.map(encodeParam);
    const settings = { prepare: this.#options.prepare, simple: false };
    let rows: unknown[] = [];
    let source: unknown;
    // The driver's own array begins with a hole for each row that the session's last statement returned before it
    // failed. The driver starts another result if it repeats the statement.
    const collect = (row: unknown, result: unknown): void => {
      if (result !== source) rows = [];
      source = result;
      rows.push(row);
    };
    try {
      await this.#settle(options.decisive ?? true, () => {
        const query = this.#client.unsafe(text, encoded, settings);
        return (options.mode === 'arrays' ? query.values() : query).forEach(collect);
      });
    } catch (error) {
      // The driver does not reset what it remembers of the statement, so the session is not used again.
      if (rows.length > 0 && error instanceof Error) this.end(error);
      throw error;
    }
    return rows;
  }

  /**
   * Runs one statement outside a transaction, with the server's limits for a deadline of this length. If
   * session settings are not possible, that takes a transaction, whose commands are sent without waiting for
   * responses.
   */
  async runAlone(
    text: string,
    params: readonly unknown[],
    options: { mode: RowMode; deadlineMs: number },
  ): Promise<unknown[]> {
    const { mode, deadlineMs } = options;
    if (this.#options.prepare) {
      await this.#allow(deadlineMs);
      return await this.run(text, params, { mode });
    }
    const [begun, result, ended] = await Promise.allSettled([
      this.runScript(beginTransaction(deadlineMs)),
      this.run(text, params, { mode }),
      this.runScript('commit', { decisive: true }),
    ]);
    for (const step of [begun, result, ended]) if (step.status === 'rejected') throw step.reason;
    return result.status === 'fulfilled' ? result.value : [];
  }

  async #allow(deadlineMs: number): Promise<void> {
    if (this.#limitMs === deadlineMs) return;
    this.#limitMs = deadlineMs;
    await this.runScript(sessionLimits(deadlineMs));
  }

  /** Runs statements without parameters and returns the tag of the last one (`COMMIT`, `ROLLBACK`). */
  async runScript(text: string, options: { decisive?: boolean } = {}): Promise<string> {
    const result = await this.#settle(options.decisive ?? false, () => this.#client.unsafe(text));
    // Several statements have an array of results.
    const last: unknown = Array.isArray(result) && Array.isArray(result[0]) ? result.at(-1) : result;
    const command: unknown =
      typeof last === 'object' && last !== null ? Reflect.get(last, 'command') : undefined;
    return typeof command === 'string' ? command : '';
  }

  /**
   * Calls `listener` once when the session ends, or at once if it has ended. Returns a function that removes
   * the listener.
   */
  onEnd(listener: (reason: Error) => void): () => void {
    if (this.#end === undefined) this.#endListeners.add(listener);
    else listener(this.#end);
    return () => {
      this.#endListeners.delete(listener);
    };
  }

  /**
   * Ends the session now: everything in flight is rejected with `reason`. In the background it is cancelled
   * on the server, so that no lock outlives its owner, and the socket is closed.
   */
  end(reason: Error): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    const running = this.#running.list();
    for (const { fail, decisive } of running) fail(decisive ? markUnknown(reason) : reason);
    this.#socket.refuse(reason);
    const key = running[0]?.query.state;
    this.#gone = this.#socket.cancelAndClose(key === null ? undefined : key);
    for (const listener of [...this.#endListeners]) listener(reason);
    this.#endListeners.clear();
  }

  /**
   * Ends the session, with a termination message to the server if nothing is in flight. Resolves when the
   * socket is closed.
   */
  async close(): Promise<void> {
    if (this.#end === undefined && this.#running.size === 0 && this.#socket.isOpen) {
      await this.#socket.closeAfter(() => void this.#client.end().catch(() => undefined));
    }
    this.end(new DatabaseUnavailable('closed', 'this database was closed'));
    await this.#gone;
  }

  async #openSocket(addresses: Addresses): Promise<Socket> {
    try {
      return await this.#socket.open(addresses);
    } catch (error) {
      // With several hosts, the driver would wait forever after this failure.
      this.end(explainConnectFailure(error, this.#options.url));
      throw error;
    }
  }

  #settle(decisive: boolean, start: () => DriverQuery): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(this.#end);
        return;
      }
      const query = start();
      const running: Running = { fail: reject, query, decisive };
      const done = this.#running.enter(running);
      query.then(
        (result) => {
          done();
          resolve(result);
        },
        (error: unknown) => {
          done();
          const explained = explainQueryFailure(error);
          reject(decisive ? markUnknown(explained) : explained);
          if (endsSession(explained)) this.end(explained);
        },
      );
    });
  }

  #refuseOldServer(): void {
    const version = String(this.#client.parameters['server_version'] ?? '');
    const major = Number.parseInt(version, 10);
    if (major >= OLDEST_MAJOR) return;
    throw new DatabaseUnavailable(
      'unsupported_version',
      `Postgres ${version} at ${describeLocation(this.#options.url)} is too old; version ${OLDEST_MAJOR} or newer is required`,
    );
  }
}

/** The driver's message. */
function driverTls(tls: Tls): false | 'prefer' | object {
  if (tls === 'never') return false;
  return tls === 'offered' ? 'prefer' : tls;
}

/**
 * True for a failure after which the session cannot be used: the server closes the connection, or the driver could not
 * read an answer.
 */
function endsSession(error: Error): boolean {
  if (!(error instanceof QueryFailed)) return true;
  return error.code === '57P01' || error.code === '57P02' || error.code === '25P03';
}
