import type { Clock } from './clock.ts';

/** Something was not done when its deadline passed. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';

  constructor() {
    super('not done by its deadline');
  }
}

/**
 * The moment at which something must be over, fixed when it begins and handed to everything that it waits for. So
 * waits that follow each other share one amount of time, instead of each adding its own.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #endsAt: number;
  readonly #listeners = new Set<() => void>();
  readonly #stopTimer: () => void;
  #passed = false;

  /** Begins now and passes in `ms` milliseconds. Its timer keeps the process alive if `keepAlive` is true. */
  constructor(clock: Clock, ms: number, options?: { readonly keepAlive?: boolean }) {
    this.#clock = clock;
    this.#endsAt = clock.elapsed() + ms;
    this.#stopTimer = clock.after(ms, () => this.pass(), options);
  }

  /** Milliseconds until it passes; 0 afterwards. */
  get leftMs(): number {
    return this.#passed ? 0 : Math.max(0, this.#endsAt - this.#clock.elapsed());
  }

  /** Passes now, before its time: whatever still waits gives up. */
  pass(): void {
    if (this.#passed) return;
    this.#passed = true;
    this.#stopTimer();
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Everything is done: it does not pass any more, and holds no timer. */
  done(): void {
    this.#stopTimer();
    this.#listeners.clear();
  }

  /** Calls `listener` once when it passes, at once if it has. */
  onPass(listener: () => void): void {
    if (this.#passed) listener();
    else this.#listeners.add(listener);
  }

  /**
   * Settles as `work` does, or rejects with `DeadlinePassed` when the deadline passes first, or `mostMs` milliseconds
   * from now. What `work` does later goes unheard.
   */
  within<T>(work: Promise<T>, mostMs = Number.POSITIVE_INFINITY): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        settled();
        reject(new DeadlinePassed());
      };
      const stop = mostMs < this.leftMs ? this.#clock.after(mostMs, giveUp) : undefined;
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
 * Settles as `work` does, or rejects with what `late` makes once `ms` milliseconds have passed: a `DeadlinePassed`,
 * unless told. For work that shares its time with nothing else. Until then it keeps the process alive. What `work` does
 * later goes unheard.
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
