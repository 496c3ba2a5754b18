import type { Queryable } from '../runtime/database/database.ts';
import type { NewTimer } from './time/timers.ts';
import type { NewEvent } from './webhooks/ledger.ts';

/** One change of the service's state: a transaction with the events and timers that belong to it. */
export interface StateChange {
  readonly tx: Queryable;
  /** Virtual time of the change, epoch ms. */
  readonly now: number;
  /** Writes events in the transaction; they are delivered once it has committed. */
  recordEvents(events: readonly NewEvent[]): Promise<void>;
  /** Writes timers in the transaction; they are armed once it has committed. */
  schedule(timers: readonly NewTimer[]): Promise<void>;
}

/**
 * Runs a change and commits it, waiting while virtual time is being moved. Nothing but SQL belongs inside.
 * Rejects with whatever `work` throws; then nothing was written, delivered or armed.
 */
export type ChangeState = <T>(work: (change: StateChange) => Promise<T>) => Promise<T>;
