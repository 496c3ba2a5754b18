import type { Clock } from './clock.ts';

/** An operation had not finished when its deadline passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';

  constructor() {
    super('not done by its deadline');
  }
}

/**
 * The time by which an operation must be finished, fixed when it starts and passed to everything that it
 * waits for, so that consecutive waits share one amount of time instead of each adding its own.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #endsAt: number;
  readonly #listeners = new Set<() => void>();
  readonly #stopTimer: () => void;
  #passed = false;

  /** Starts now and passes in `ms` milliseconds. Its timer keeps the process alive if `keepAlive` is true. */
  constructor(clock: Clock, ms: number, options?: { readonly keepAlive?: boolean }) {
    this.#clock = clock;
    this.#endsAt = clock.elapsed() + ms;
    this.#stopTimer = clock.after(ms, () => this.pass(), options);
  }

  /** Milliseconds until it passes; 0 afterwards. */
  get leftMs(): number {
    return this.#passed ? 0 : Math.max(0, this.#endsAt - this.#clock.elapsed());
  }

  /** Passes now, before its time: everything that still waits is aborted. */
  pass(): void {
    if (this.#passed) return;
    this.#passed = true;
    this.#stopTimer();
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Everything is done: the deadline no longer passes and its timer is removed. */
  done(): void {
    this.#stopTimer();
    this.#listeners.clear();
  }

  /** Calls `listener` once when it passes, or at once if it has passed. */
  onPass(listener: () => void): void {
    if (this.#passed) listener();
    else this.#listeners.add(listener);
  }

  /**
   * Settles like `work`, or rejects with `DeadlinePassed` if the deadline passes first, or `maxMs`
   * milliseconds from now. A later result of `work` is ignored.
   */
  within<T>(work: Promise<T>, maxMs = Number.POSITIVE_INFINITY): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        settled();
        reject(new DeadlinePassed());
      };
      const stop = maxMs < this.leftMs ? this.#clock.after(maxMs, giveUp) : undefined;
      const settled = (): void => {
        stop?.();
        this.#listeners.delete(giveUp);
      };
      work.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          settled();
          reject(error);
        },
      );
      this.onPass(giveUp);
    });
  }
}

/**
 * Settles like `work`, whose signal aborts after `ms` milliseconds, with a `DeadlinePassed` as its reason, and with each
 * of `others`. Until then it keeps the process alive.
 */
export async function abortAfter<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  ...others: readonly (AbortSignal | undefined)[]
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new DeadlinePassed()), { keepAlive: true });
  try {
    return await work(AbortSignal.any([late.signal, ...others.filter((other) => other !== undefined)]));
  } finally {
    cancel();
  }
}

/** Whether a time limit aborted it: that of its `abortAfter`, or of one around it. */
export const isLate = (signal: AbortSignal): boolean => signal.reason instanceof DeadlinePassed;

/**
 * Settles like `work`, or rejects with what `late` creates after `ms` milliseconds: a `DeadlinePassed` by
 * default. For work that shares its time with nothing else. Until then it keeps the process alive. A later
 * result of `work` is ignored.
 */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late?: () => Error): Promise<T> {
  const deadline = new Deadline(clock, ms, { keepAlive: true });
  try {
    return await deadline.within(work);
  } catch (error) {
    throw error instanceof DeadlinePassed && late !== undefined ? late() : error;
  } finally {
    deadline.done();
  }
}
