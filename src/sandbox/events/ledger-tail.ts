import type { Ledger, LedgerEntry } from '../../platform/webhooks/ledger.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

const BATCH = 500;
const RETRY_MS = 1_000;

export interface LedgerTailOptions {
  readonly ledger: Pick<Ledger, 'lastSeq' | 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onEntry: (entry: LedgerEntry) => void;
}

/**
 * Passes on the entries of the ledger in order, each exactly once, while it has followers. One read serves all
 * followers; without any, nothing is read.
 */
export class LedgerTail {
  readonly #options: LedgerTailOptions;
  #after = 0;
  #followers = 0;
  /** Resolves once the position of the first entry is known; undefined without followers. */
  #begun: Promise<void> | undefined;
  #ready = false;
  #reading = false;
  #more = false;
  /** Counts the starts: what was read before one is not for followers after it. */
  #generation = 0;

  constructor(options: LedgerTailOptions) {
    this.#options = options;
  }

  /** Follows from now on: entries that are committed after this has resolved are passed on. The returned function ends it. */
  async follow(): Promise<() => void> {
    this.#followers += 1;
    this.#begun ??= this.#begin();
    try {
      await this.#begun;
    } catch (error) {
      this.#leave();
      throw error;
    }
    return () => this.#leave();
  }

  /** Something was committed. Returns at once. */
  notify(): void {
    if (!this.#ready) return;
    this.#more = true;
    if (!this.#reading) void this.#read();
  }

  /** The ledger was emptied and starts again. */
  reset(): void {
    this.#generation += 1;
    this.#after = 0;
    this.notify();
  }

  async #begin(): Promise<void> {
    const generation = ++this.#generation;
    const last = await this.#options.ledger.lastSeq();
    if (generation === this.#generation) this.#after = last;
    this.#ready = true;
    // Nothing was notified of what was committed since the position was read.
    this.notify();
  }

  #leave(): void {
    this.#followers -= 1;
    if (this.#followers > 0) return;
    this.#begun = undefined;
    this.#ready = false;
  }

  async #read(): Promise<void> {
    const { ledger, clock, logger, onEntry } = this.#options;
    this.#reading = true;
    try {
      while (this.#more && this.#ready) {
        this.#more = false;
        const generation = this.#generation;
        const entries = await ledger.read({ after: this.#after }, BATCH);
        if (generation !== this.#generation) {
          this.#more = true;
          continue;
        }
        for (const entry of entries) onEntry(entry);
        this.#after = entries.at(-1)?.seq ?? this.#after;
        if (entries.length === BATCH) this.#more = true;
      }
    } catch (error) {
      logger.warn({ err: error }, 'the ledger could not be read for its streams; retrying');
      clock.after(RETRY_MS, () => this.notify());
    } finally {
      this.#reading = false;
    }
  }
}
