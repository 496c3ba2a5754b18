import { within } from '../../src/runtime/clock/deadline.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { ManualClock } from './manual-clock.ts';

/** Code that would wait has begun to by then, in real time, also on a busy machine. */
const PATIENCE_MS = 10_000;

/** A manual clock that reports when the code under test waits, so that a test knows when to move it. */
export class WatchedClock extends ManualClock {
  readonly #set = new Map<number, number>();
  #waiters: { readonly ms: number; readonly resolve: () => void }[] = [];

  override after(ms: number, run: () => void): () => void {
    const cancel = super.after(ms, run);
    const waiter = this.#waiters.find((candidate) => candidate.ms === ms);
    if (waiter === undefined) this.#set.set(ms, (this.#set.get(ms) ?? 0) + 1);
    else {
      this.#waiters = this.#waiters.filter((candidate) => candidate !== waiter);
      waiter.resolve();
    }
    return cancel;
  }

  /** Discards timers that no test waited for, so that the next test waits for its own. */
  forget(): void {
    this.#set.clear();
  }

  /** Resolves when a timer of `ms` is set that no earlier call has returned. */
  async timerSet(ms: number): Promise<void> {
    const seen = this.#set.get(ms) ?? 0;
    if (seen > 0) this.#set.set(ms, seen - 1);
    else {
      const isSet = new Promise<void>((resolve) => this.#waiters.push({ ms, resolve }));
      await within(systemClock, PATIENCE_MS, isSet, () => new Error(`nothing waits for ${ms} ms`));
    }
  }

  /** Waits until a timer of `ms` is set, and moves the clock by as much. */
  async pass(ms: number): Promise<void> {
    await this.timerSet(ms);
    await this.advance(ms);
  }
}
