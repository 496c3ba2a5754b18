import type { Clock } from '../../src/runtime/clock/clock.ts';

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly run: () => void;
}

/** Runs everything that is ready: microtasks, and what they make ready. */
async function settleMicrotasks(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A clock that moves only when a test moves it. */
export class ManualClock implements Clock {
  #wall: number;
  #elapsed = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  /** `start` is the initial wall-clock time in epoch milliseconds. */
  constructor(start: number = Date.UTC(2026, 0, 15, 12)) {
    this.#wall = start;
  }

  /** An integer, as on a real machine, even if a timer was due at a fraction. */
  now(): number {
    return Math.floor(this.#wall);
  }

  elapsed(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { due: this.#elapsed + Math.max(0, ms), order: this.#order++, run };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const abort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due; infinite if none waits. */
  get untilNext(): number {
    return Math.min(...[...this.#timers].map(({ due }) => due - this.#elapsed));
  }

  /**
   * Advances time by `ms`. Everything due runs in the order of its due time (equal times: in the order
   * it was set), and its effects that need no I/O are complete before the next one runs.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settleMicrotasks();
    for (let next = this.#nextDue(end); next !== undefined; next = this.#nextDue(end)) {
      this.#timers.delete(next);
      this.#moveTo(next.due);
      next.run();
      await settleMicrotasks();
    }
    this.#moveTo(end);
  }

  /**
   * Moves time forward by `ms` at once, as for a machine that slept: what became due runs once, and late.
   * So long times cost nothing, however often something repeats.
   */
  async skip(ms: number): Promise<void> {
    this.#moveTo(this.#elapsed + ms);
    await this.advance(0);
  }

  /** Moves only the wall clock, as a time server or an operator does. Timers are unaffected. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  #nextDue(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due > end) continue;
      if (
        next === undefined ||
        timer.due < next.due ||
        (timer.due === next.due && timer.order < next.order)
      ) {
        next = timer;
      }
    }
    return next;
  }

  #moveTo(elapsed: number): void {
    const step = Math.max(0, elapsed - this.#elapsed);
    this.#elapsed += step;
    this.#wall += step;
  }
}
