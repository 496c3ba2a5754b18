import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Attempt, DeliveryOutcome, DropReason, Variant } from './delivery-record.ts';

/** A finished delivery as it is stored. */
export interface FinishedDelivery {
  readonly id: number;
  readonly eventId: number;
  readonly subscriptionId: string;
  readonly url: string | null;
  readonly outcome: Exclude<DeliveryOutcome, 'pending'>;
  readonly reason: DropReason | null;
  readonly createdAt: number;
  /** The signed timestamp; null, like the signature, if it was never signed. */
  readonly signedAt: number | null;
  readonly signature: string | null;
  readonly attempts: readonly Attempt[];
  readonly variant: Variant | null;
}

export interface DeliveryLogOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when `full` becomes false. */
  readonly onRoom: () => void;
}

const EAGER_ROWS = 500;
const BATCH_ROWS = 2_000;
const FULL_ROWS = 20_000;
const FLUSH_MS = 100;
const RETRY_MS = 1_000;

/** Inserts a batch of any size. It is SQL, because drizzle would create a statement for each size. */
export const INSERT_DELIVERIES = `
  INSERT INTO platform.deliveries
    (id, event_id, subscription_id, url, outcome, reason, created_at, signed_at, signature, attempts, variant)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::text[], $10::text[], $11::text[])
  ON CONFLICT (id) DO NOTHING`;

function insertParams(rows: readonly FinishedDelivery[]): unknown[] {
  return [
    rows.map((row) => row.id),
    rows.map((row) => row.eventId),
    rows.map((row) => row.subscriptionId),
    rows.map((row) => row.url),
    rows.map((row) => row.outcome),
    rows.map((row) => row.reason),
    rows.map((row) => row.createdAt),
    rows.map((row) => row.signedAt),
    rows.map((row) => row.signature),
    rows.map((row) => JSON.stringify(row.attempts)),
    rows.map((row) => (row.variant === null ? null : JSON.stringify(row.variant))),
  ];
}

/**
 * Writes finished deliveries in batches, in the background. A failed batch is written again. Ids are inserted once, so
 * a batch that was in fact committed changes nothing.
 */
export class DeliveryLog {
  readonly #options: DeliveryLogOptions;
  #rows: FinishedDelivery[] = [];
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #generation = 0;

  constructor(options: DeliveryLogOptions) {
    this.#options = options;
  }

  /** True if so many deliveries wait to be stored that no new attempt should begin. */
  get full(): boolean {
    return this.#rows.length >= FULL_ROWS;
  }

  add(row: FinishedDelivery): void {
    this.#rows.push(row);
    if (this.#rows.length >= EAGER_ROWS && this.#writing === undefined) this.#write();
    else this.#wait(FLUSH_MS);
  }

  /** Resolves once all rows added so far are stored; rejects if a write fails. */
  async flush(): Promise<void> {
    while (this.#rows.length > 0 || this.#writing !== undefined) await this.#storeNext();
    this.#stopTimer();
  }

  /** Discards rows that are not stored yet, and waits for the write in progress. */
  async discard(): Promise<void> {
    this.#generation += 1;
    this.#rows = [];
    this.#stopTimer();
    await this.#writing?.catch(() => undefined);
  }

  /** Writes in the background, and retries after a delay. */
  #write(): void {
    this.#stopTimer();
    if (this.#rows.length === 0) return;
    this.#storeNext().then(
      () => {
        if (this.#rows.length >= EAGER_ROWS) this.#write();
        else if (this.#rows.length > 0) this.#wait(FLUSH_MS);
      },
      (error: unknown) => {
        this.#options.logger.warn(
          { err: error, waiting: this.#rows.length },
          'deliveries are not stored yet',
        );
        this.#wait(RETRY_MS);
      },
    );
  }

  /** Stores one batch at a time: a second caller waits for the one in progress. */
  #storeNext(): Promise<void> {
    this.#writing ??= this.#store().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #store(): Promise<void> {
    const batch = this.#rows.slice(0, BATCH_ROWS);
    const generation = this.#generation;
    await this.#options.database.query(INSERT_DELIVERIES, insertParams(batch));
    if (generation !== this.#generation) return;
    const wasFull = this.full;
    this.#rows = this.#rows.slice(batch.length);
    if (wasFull && !this.full) this.#options.onRoom();
  }

  #wait(ms: number): void {
    this.#cancelTimer ??= this.#options.clock.after(ms, () => {
      this.#cancelTimer = undefined;
      this.#write();
    });
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
