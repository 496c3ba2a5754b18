import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';

export interface Notified {
  readonly topic: string;
  readonly key: string;
  readonly delayMs: number;
}

/** Notes what was notified, and delivers nothing; a test delivers itself. */
export class ManualNotifier implements Notifier {
  readonly receives = true;
  notified: Notified[] = [];
  /** What is notified is lost. */
  failing = false;
  readonly #subscribers = new Map<string, (key: string) => Promise<void>>();

  notify(topic: string, key: string, delayMs = 0): void {
    if (!this.failing) this.notified.push({ topic, key, delayMs });
  }

  subscribe(topic: string, onNotified: (key: string) => Promise<void>): () => void {
    this.#subscribers.set(topic, onNotified);
    return () => undefined;
  }

  tell(topic: string, key: string): void {
    this.notify(topic, key);
  }

  hear(topic: string, onTold: (key: string) => void): () => void {
    return this.subscribe(topic, async (key) => onTold(key));
  }

  /** Resolves when the process that subscribed last has begun to look. */
  async deliver(topic: string, key: string): Promise<void> {
    await this.#subscribers.get(topic)?.(key);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
