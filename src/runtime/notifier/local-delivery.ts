import type { Clock } from '../clock/clock.ts';

type OnNotified = (key: string) => Promise<void>;

/** Calls the subscribers of this process, now or later. */
export class LocalDelivery {
  readonly #clock: Clock;
  readonly #subscribers = new Map<string, OnNotified>();
  readonly #timers = new Map<string, { readonly dueAt: number; readonly cancel: () => void }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the function that ends the subscription. */
  subscribe(topic: string, onNotified: OnNotified): () => void {
    this.#subscribers.set(topic, onNotified);
    return () => this.#subscribers.delete(topic);
  }

  has(topic: string): boolean {
    return this.#subscribers.has(topic);
  }

  /** Calls the subscriber, if there is one. Resolves when it has started to check. */
  async deliver(topic: string, key: string): Promise<void> {
    await this.#subscribers.get(topic)?.(key);
  }

  /** Calls `run` once in `delayMs` milliseconds. If a call for the key is already scheduled, the earlier one is kept. */
  after(delayMs: number, topic: string, key: string, run: () => void): void {
    const name = `${topic} ${key}`;
    const dueAt = this.#clock.elapsed() + delayMs;
    const current = this.#timers.get(name);
    if (current !== undefined && current.dueAt <= dueAt) return;
    current?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#timers.delete(name);
      run();
    });
    this.#timers.set(name, { dueAt, cancel });
  }

  close(): void {
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#subscribers.clear();
  }
}
