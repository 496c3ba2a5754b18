import { systemClock } from '../../../src/runtime/clock/system-clock.ts';

/** Collects what a handler is called with, and lets a test wait for a number of calls. */
export class Calls {
  readonly seen: { readonly data: Record<string, unknown>; readonly at: number }[] = [];
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  readonly handler = (data: Record<string, unknown>): Promise<void> => {
    this.seen.push({ data, at: systemClock.elapsed() });
    for (const waiter of this.#waiting) if (this.seen.length >= waiter.count) waiter.resolve();
    return Promise.resolve();
  };

  /** Resolves once the handler has been called `count` times. */
  reach(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.seen.length >= count) resolve();
      else this.#waiting.push({ count, resolve });
    });
  }

  /** Resolves once the handler has been called `count` times more. */
  more(count: number): Promise<void> {
    return this.reach(this.seen.length + count);
  }
}

/** A promise and the function that settles it. */
export function defer(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
