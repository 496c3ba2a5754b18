import type { Variant } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';

/** An event that waits for its first attempt. `createdAt` is wall-clock epoch milliseconds. */
export interface Waiting {
  readonly id: number;
  readonly eventId: number;
  /** The workspace or OAuth app that receives it. */
  readonly subscriptionId: string;
  readonly createdAt: number;
  readonly variant?: Variant;
  /** Absent while it is only in the ledger. */
  readonly event?: RecordedEvent;
}

/** A waiting event with its bytes in memory. */
export interface Ready extends Waiting {
  readonly event: RecordedEvent;
}

/** Limits of a backlog in memory. */
export interface BacklogLimits {
  /** Events with their bytes. */
  readonly events: number;
  readonly bytes: number;
  /** Events of which only the ids are kept; their bytes are read from the ledger when needed. */
  readonly ids: number;
}

export interface BacklogOptions {
  readonly limits: BacklogLimits;
  readonly load: (eventIds: readonly number[]) => Promise<readonly RecordedEvent[]>;
  /** Called when events have been read back, so that `shift` returns one again. */
  readonly onReady: () => void;
  /** Called when reading back failed; `retry` repeats it. */
  readonly onFailure: (error: unknown, retry: () => void) => void;
}

const LOAD_BATCH = 500;

/** A queue whose head is removed in constant time. */
export class Fifo<Item> {
  #items: Item[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** The items in order, without removing them. */
  list(): Item[] {
    return this.#items.slice(this.#head);
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

/**
 * The events of one account that wait for their first attempt, in order and with limited memory: above a limit, only
 * ids are kept, because the bytes are in the ledger. So a receiver that does not answer delays its own account and
 * costs the process little memory.
 */
export class Backlog {
  readonly #options: BacklogOptions;
  readonly #ready = new Fifo<Ready>();
  readonly #away = new Fifo<Waiting>();
  #loading: readonly Waiting[] = [];
  #bytes = 0;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#ready.size + this.#away.size + this.#loading.length;
  }

  /** Adds an event; false if the backlog is full. */
  push(waiting: Ready): boolean {
    const { limits } = this.#options;
    const allHere = this.#away.size === 0 && this.#loading.length === 0;
    if (allHere && this.#ready.size < limits.events && this.#bytes < limits.bytes) {
      this.#keep(waiting);
      return true;
    }
    if (this.#away.size >= limits.ids) return false;
    const { event: _, ...rest } = waiting;
    this.#away.push(rest);
    return true;
  }

  /** Removes the next event; undefined if none is in memory, although some may still be read from the ledger. */
  shift(): Ready | undefined {
    const next = this.#ready.shift();
    if (next !== undefined) this.#bytes -= next.event.body.length;
    if (this.#ready.size < LOAD_BATCH) this.#loadMore();
    return next;
  }

  list(): Waiting[] {
    return [...this.#ready.list(), ...this.#loading, ...this.#away.list()];
  }

  clear(): void {
    this.#ready.clear();
    this.#away.clear();
    this.#loading = [];
    this.#bytes = 0;
  }

  #keep(waiting: Ready): void {
    this.#ready.push(waiting);
    this.#bytes += waiting.event.body.length;
  }

  #loadMore(): void {
    if (this.#away.size === 0 || this.#loading.length > 0) return;
    const batch: Waiting[] = [];
    while (batch.length < LOAD_BATCH) {
      const waiting = this.#away.shift();
      if (waiting === undefined) break;
      batch.push(waiting);
    }
    this.#loading = batch;
    this.#load(batch);
  }

  #load(batch: readonly Waiting[]): void {
    this.#options.load(batch.map((waiting) => waiting.eventId)).then(
      (events) => {
        // The backlog has been cleared in the meantime.
        if (this.#loading !== batch) return;
        this.#loading = [];
        const byId = new Map(events.map((event) => [event.id, event]));
        for (const waiting of batch) {
          const event = byId.get(waiting.eventId);
          if (event !== undefined) this.#keep({ ...waiting, event });
        }
        this.#options.onReady();
      },
      (error: unknown) => {
        this.#options.onFailure(error, () => {
          if (this.#loading === batch) this.#load(batch);
        });
      },
    );
  }
}
