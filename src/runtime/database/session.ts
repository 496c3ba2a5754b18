import type { Socket } from 'node:net';
import postgres from 'postgres';
import type { Clock } from '../clock/clock.ts';
import { InFlight } from '../in-flight/in-flight.ts';
import { describeLocation, driverUrl, type Host, hostsOf } from './database-url.ts';
import { DatabaseUnavailable, markUnknown, QueryFailed } from './errors.ts';
import { explainConnectFailure, explainQueryFailure } from './explain-failure.ts';
import type { BackendKey } from './send-cancel-request.ts';
import { beginTransaction, sessionLimits, sessionParameters } from './session-parameters.ts';
import { SessionSocket } from './session-socket.ts';
import { type Tls, tlsOf } from './tls.ts';
import { tryHosts } from './try-hosts.ts';
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
/** With several hosts, one that accepts a connection but does not answer costs no more time than this. */
const HOST_DEADLINE_MS = 2_000;
/** What decides whether a server can be used. */
const STATE = `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly",
  current_setting('server_encoding') as encoding`;
/** All texts are Unicode. A server without an encoding stores their bytes as they are. */
const ENCODINGS: readonly string[] = ['UTF8', 'SQL_ASCII'];

interface ServerState {
  readonly standby: boolean;
  readonly readOnly: boolean;
  readonly encoding: string;
}

/**
 * One connection to Postgres, and never another. By default the driver reconnects behind its caller's back,
 * and a statement meant for a transaction would then run outside it; therefore the socket is handed out here,
 * only once. A session that loses its socket is over: everything in flight on it is rejected at once, and so
 * is everything later.
 */
export class Session {
  readonly openedAt: number;
  readonly host: Host;
  readonly #options: SessionOptions;
  readonly #client: postgres.Sql;
  readonly #running = new InFlight<Running>();
  readonly #endListeners = new Set<(reason: Error) => void>();
  readonly #socket: SessionSocket;
  #limitMs: number;
  #end: Error | undefined;
  #gone: Promise<void> = Promise.resolve();

  private constructor(options: SessionOptions, host: Host) {
    this.#options = options;
    this.host = host;
    this.#limitMs = options.deadlineMs;
    const tls = tlsOf(options.url);
    this.#socket = new SessionSocket(options.clock, host, tls);
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
      onclose: () => this.end(lostConnection(host)),
      socket: () => this.#openSocket(),
    };
    this.#client = postgres(driverUrl(options.url), settings);
  }

  /**
   * Connects to the first host of the URL that can be used, authenticates, and checks the server: its version, its
   * encoding, and that it is no standby. Throws `DatabaseUnavailable`.
   */
  static async open(options: SessionOptions, signal?: AbortSignal): Promise<Session> {
    return await tryHosts(options.url, (host) => Session.#openAt(host, options, signal));
  }

  static async #openAt(host: Host, options: SessionOptions, signal?: AbortSignal): Promise<Session> {
    const { url, clock } = options;
    const several = hostsOf(url).length > 1;
    const deadlineMs = several
      ? Math.min(options.connectDeadlineMs, HOST_DEADLINE_MS)
      : options.connectDeadlineMs;
    const session = new Session(options, host);
    const abort = (): void => session.end(new DatabaseUnavailable('closed', 'this database was closed'));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    const stop = clock.after(deadlineMs, () => {
      const what = `no response from Postgres at ${describeLocation(url, [host])} within ${deadlineMs} ms`;
      session.end(
        new DatabaseUnavailable('unreachable', what, {
          advice: 'check that the host is correct and reachable',
        }),
      );
    });
    try {
      const [state] = await session.run(STATE, []);
      session.#socket.refuse(lostConnection(host));
      session.#refuseUnfit(state as ServerState, several);
      return session;
    } catch (error) {
      const explained = explainConnectFailure(session.#end ?? error, url, host);
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

  /** Ends the session if it does not respond within `ms`, and throws why. */
  async probe(ms: number): Promise<void> {
    const silent = new DatabaseUnavailable(
      'lost',
      `the connection did not respond to a probe within ${ms} ms`,
    );
    const stop = this.#options.clock.after(ms, () => this.end(silent));
    try {
      await this.run('select 1', [], { decisive: false });
    } finally {
      stop();
    }
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

  async #openSocket(): Promise<Socket> {
    try {
      return await this.#socket.open();
    } catch (error) {
      this.end(explainConnectFailure(error, this.#options.url, this.host));
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
          // The connection is lost, as after a fatal error of the server, or the driver could not read an answer.
          if (!(explained instanceof QueryFailed)) this.end(explained);
        },
      );
    });
  }

  #refuseUnfit({ standby, readOnly, encoding }: ServerState, several: boolean): void {
    const location = describeLocation(this.#options.url, [this.host]);
    const version = String(this.#client.parameters['server_version'] ?? '');
    if (Number.parseInt(version, 10) < OLDEST_MAJOR) {
      throw new DatabaseUnavailable(
        'unsupported_version',
        `Postgres ${version} at ${location} is too old; version ${OLDEST_MAJOR} or newer is required`,
      );
    }
    if (!ENCODINGS.includes(encoding)) {
      throw new DatabaseUnavailable(
        'unsupported_encoding',
        `the database at ${location} has the encoding ${encoding}, which cannot store every text; create one with ENCODING 'UTF8' TEMPLATE template0`,
      );
    }
    // The only host is still good for reading if it was made read-only.
    if (!standby && !(several && readOnly)) return;
    throw new DatabaseUnavailable(
      'not_ready',
      `cannot use Postgres at ${location}: it is ${standby ? 'a standby' : 'read-only'}; name the primary in the URL, or all servers, separated by commas`,
    );
  }
}

function lostConnection(host: Host): DatabaseUnavailable {
  return new DatabaseUnavailable('lost', `the connection to the database at ${host.name} was lost`);
}

/** The driver's message. */
function driverTls(tls: Tls): false | 'prefer' | object {
  if (tls === 'never') return false;
  return tls === 'offered' ? 'prefer' : tls;
}
