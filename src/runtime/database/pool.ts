import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded } from './errors.ts';
import { Session, type SessionOptions } from './session.ts';

export interface PoolOptions {
  readonly session: SessionOptions;
  readonly size: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Waiter {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: Error) => void;
}

/** How long to wait for live connections after a refused connection before trying another one. */
const REOPEN_PAUSE_MS = 250;
/** Connections are renewed after this time, so that a failed-over or re-balanced server is found again. */
const LONGEST_LIFE_MS = 30 * 60_000;
const CLOSE_GRACE_MS = 5_000;

/**
 * A limited set of sessions, each used by one caller at a time. Callers wait in order, never longer than
 * their deadline. A generation can be replaced as a whole if the path to the server is dead.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Session[] = [];
  readonly #busy = new Set<Session>();
  readonly #waiters = new Set<Waiter>();
  /** Sessions that are being closed; `close` waits for them. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #generationOf = new WeakMap<Session, number>();
  #opening = 0;
  #reopenAt = 0;
  #generation = 1;
  #lastAnswerAt = 0;
  /** Name of the host of the newest session. */
  #host: string | undefined;
  #closed: Promise<void> | undefined;
  #onDrained: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Sessions by state, and callers waiting for one. */
  get counts(): { readonly open: number; readonly busy: number; readonly waiting: number } {
    return { open: this.#size - this.#opening, busy: this.#busy.size, waiting: this.#waiters.size };
  }

  /** Monotonic time of the last response from the server. */
  get lastAnswerAt(): number {
    return this.#lastAnswerAt;
  }

  get #size(): number {
    return this.#idle.length + this.#busy.size + this.#opening;
  }

  /**
   * Waits for a session. Throws `DatabaseUnavailable` or `QueryDeadlineExceeded`; in that case nothing was
   * sent.
   */
  async acquire(deadlineMs: number): Promise<Session> {
    if (this.#closed !== undefined) throw new DatabaseUnavailable('closed', 'this database was closed');
    const idle = this.takeIdle();
    if (idle !== undefined) return idle;
    return await new Promise((resolve, reject) => {
      const settled = (): void => {
        stop();
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: (session) => {
          settled();
          resolve(session);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      const stop = this.#options.clock.after(deadlineMs, () => {
        waiter.reject(new QueryDeadlineExceeded(deadlineMs, 'waiting for a free connection', false));
      });
      this.#waiters.add(waiter);
      this.#openForWaiters();
    });
  }

  /** An idle session, marked busy; undefined if there is none. */
  takeIdle(): Session | undefined {
    const session = this.#idle.pop();
    if (session !== undefined) this.#busy.add(session);
    return session;
  }

  /** Returns a session to the pool. An ended, outdated or old one is closed. */
  release(session: Session): void {
    this.#busy.delete(session);
    if (session.alive) {
      this.#lastAnswerAt = this.#options.clock.elapsed();
      this.#offer(session);
    }
    this.#openForWaiters();
    this.#checkDrained();
  }

  /** Opens a session outside the pool, for a probe. It counts once it is adopted. */
  async openExtra(connectDeadlineMs: number): Promise<Session> {
    return await Session.open({ ...this.#options.session, connectDeadlineMs }, this.#closing.signal);
  }

  /** Adds a session that was opened outside the pool, or closes it if there is no room. */
  adopt(session: Session): void {
    this.#lastAnswerAt = this.#options.clock.elapsed();
    if (this.#size >= this.#options.size) {
      this.#letGo(session);
      return;
    }
    this.#admit(session);
    this.#offer(session);
  }

  /** Starts a new generation. Idle sessions end now; busy ones too if `reason` applies to all of them. */
  replace(reason: Error, scope: 'idle' | 'all'): void {
    this.#generation += 1;
    for (const session of [...this.#idle]) session.end(reason);
    if (scope === 'all') for (const session of [...this.#busy]) session.end(reason);
    this.#openForWaiters();
  }

  /** Accepts no more callers, lets the busy ones finish for a moment, then ends every session. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  async #shutDown(): Promise<void> {
    const reason = new DatabaseUnavailable('closed', 'this database was closed');
    for (const waiter of [...this.#waiters]) waiter.reject(reason);
    this.#closing.abort(reason);
    for (const session of this.#idle.splice(0)) this.#letGo(session);
    if (this.#busy.size + this.#opening > 0) {
      const drained = new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
      const stop = this.#options.clock.after(CLOSE_GRACE_MS, () => {
        for (const session of [...this.#busy]) session.end(reason);
      });
      await drained;
      stop();
    }
    await Promise.all(this.#leaving);
  }

  #letGo(session: Session): void {
    const leaving = session.close().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  #openForWaiters(): void {
    if (this.#options.clock.elapsed() < this.#reopenAt && this.#busy.size > 0) return;
    while (
      this.#waiters.size > this.#opening &&
      this.#size < this.#options.size &&
      this.#closed === undefined
    )
      this.#openOne();
  }

  #openOne(): void {
    this.#opening += 1;
    Session.open(this.#options.session, this.#closing.signal).then(
      (session) => {
        this.#opening -= 1;
        this.#reopenAt = 0;
        this.#lastAnswerAt = this.#options.clock.elapsed();
        this.#admit(session);
        this.#offer(session);
        this.#checkDrained();
      },
      (error: Error) => {
        this.#opening -= 1;
        this.#reopenAt = this.#options.clock.elapsed() + REOPEN_PAUSE_MS;
        // Waiters stay while a live session may still serve them; without one they would all fail in the same
        // way.
        const permanent = error instanceof DatabaseUnavailable && error.permanent;
        if (permanent || this.#size === 0) for (const waiter of [...this.#waiters]) waiter.reject(error);
        else this.#options.clock.after(REOPEN_PAUSE_MS, () => this.#openForWaiters());
        this.#checkDrained();
      },
    );
  }

  #admit(session: Session): void {
    const { name } = session.host;
    if (this.#host !== undefined && this.#host !== name) {
      this.#options.logger.warn(
        { host: name, before: this.#host },
        'the database is now used at another host',
      );
      this.replace(new DatabaseUnavailable('lost', `the database is now used at ${name}`), 'all');
    }
    this.#host = name;
    this.#generationOf.set(session, this.#generation);
    session.onEnd(() => {
      const at = this.#idle.indexOf(session);
      if (at >= 0) this.#idle.splice(at, 1);
      // A busy session is released by its user; its socket may take a moment to close.
      this.#letGo(session);
      this.#openForWaiters();
    });
  }

  #offer(session: Session): void {
    const old = this.#options.clock.elapsed() - session.openedAt > LONGEST_LIFE_MS;
    if (this.#closed !== undefined || old || this.#generationOf.get(session) !== this.#generation) {
      this.#letGo(session);
      return;
    }
    const [next] = this.#waiters;
    if (next === undefined) {
      this.#idle.push(session);
      return;
    }
    this.#busy.add(session);
    next.resolve(session);
  }

  #checkDrained(): void {
    if (this.#busy.size + this.#opening === 0) this.#onDrained?.();
  }
}
