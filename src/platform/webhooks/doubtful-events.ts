import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { RecordedEvent } from './ledger.ts';

/** Delays before each successful query. A commit in progress ends within them. */
const LOOKS_AFTER_MS = [0, 1_000, 5_000, 30_000] as const;
const RETRY_MS = 5_000;

export interface DoubtfulEventsOptions {
  /** Reads those of the events that are in the ledger. */
  readonly load: (eventIds: readonly number[]) => Promise<readonly RecordedEvent[]>;
  readonly deliver: (events: readonly RecordedEvent[]) => void;
  /** The system clock. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Events of changes whose commit got no answer. The commit may have succeeded, so they are looked up in the ledger
 * until they are found, and then delivered, or until the commit can no longer succeed.
 */
export class DoubtfulEvents {
  readonly #options: DoubtfulEventsOptions;
  readonly #cancels = new Set<() => void>();
  readonly #lookups = new Set<Promise<void>>();
  #generation = 0;

  constructor(options: DoubtfulEventsOptions) {
    this.#options = options;
  }

  /** Adds events. Returns at once and never throws. */
  add(events: readonly RecordedEvent[]): void {
    const eventIds = events.map(({ id }) => id);
    if (eventIds.length > 0) this.#begin(eventIds, 0, this.#generation);
  }

  /** Resolves when no query is in progress. */
  async idle(): Promise<void> {
    while (this.#lookups.size > 0) await Promise.all(this.#lookups);
  }

  /** Discards all events. */
  clear(): void {
    this.#generation += 1;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  #begin(eventIds: readonly number[], place: number, generation: number): void {
    const lookup = this.#lookUp(eventIds, place, generation).finally(() => this.#lookups.delete(lookup));
    this.#lookups.add(lookup);
  }

  async #lookUp(eventIds: readonly number[], place: number, generation: number): Promise<void> {
    const { load, deliver, logger } = this.#options;
    try {
      const found = await load(eventIds);
      if (generation !== this.#generation) return;
      deliver(found);
      const known = new Set(found.map(({ id }) => id));
      const missing = eventIds.filter((id) => !known.has(id));
      const pause = LOOKS_AFTER_MS[place + 1];
      if (missing.length > 0 && pause !== undefined) this.#later(pause, missing, place + 1);
    } catch (error) {
      if (generation !== this.#generation) return;
      logger.warn({ err: error }, 'events of a commit without an answer could not be looked up; retrying');
      this.#later(RETRY_MS, eventIds, place);
    }
  }

  #later(ms: number, eventIds: readonly number[], place: number): void {
    const generation = this.#generation;
    const cancel = this.#options.clock.after(ms, () => {
      this.#cancels.delete(cancel);
      this.#begin(eventIds, place, generation);
    });
    this.#cancels.add(cancel);
  }
}
