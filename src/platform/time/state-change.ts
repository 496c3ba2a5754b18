import type { ConnectionCause } from '../../contract/sandbox/connections.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { mayHaveCommitted } from '../../runtime/database/errors.ts';
import type { SessionState } from '../db/core-tables.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/ledger.ts';
import type { DomainClock } from './domain-clock.ts';
import { insertTimers, type NewTimer } from './timers.ts';
import type { WriteGate } from './write-gate.ts';

/** A transition of a connection's session, for people who look at its history. */
export interface SessionTransition {
  readonly connectionId: string;
  /** What caused it. */
  readonly trigger: ConnectionCause;
  /** Null for a connection that was just created. */
  readonly from: SessionState | null;
  readonly to: SessionState;
  readonly needsReconnect: boolean;
  /** The reason of a break, as the event reports it. */
  readonly reason: string | null;
  /** The event that reports it; null if none does. */
  readonly event: string | null;
}

/** Port: stores a transition in the transaction that makes it. `at` is virtual epoch ms. */
export type RecordTransition = (tx: Queryable, transition: SessionTransition, at: number) => Promise<void>;

/** A change of the service's state: a transaction with its events and timers. */
export interface StateChange {
  readonly tx: Queryable;
  /** Virtual time of the change, epoch ms. */
  readonly now: number;
  /** Writes events in the transaction; they are delivered once it has committed. */
  recordEvents(events: readonly NewEvent[]): Promise<void>;
  /** Writes timers in the transaction; they are armed once it has committed. */
  schedule(timers: readonly NewTimer[]): Promise<void>;
  /** Passes a transition to the port that records them, if there is one. */
  recordTransition(transition: SessionTransition): Promise<void>;
}

/**
 * Runs a change and commits it. `work` should only run SQL. Rejects with whatever `work` throws; then nothing was
 * written, delivered or armed. `gate` makes the two kinds different types: using the wrong one would wait for itself,
 * or change state while time is being moved.
 */
type Change<Gate> = (<T>(work: (change: StateChange) => Promise<T>) => Promise<T>) & { readonly gate: Gate };

/** For callers that hold the gate of time. */
export type CommitChange = Change<'held'>;

/** For all other callers: waits while virtual time is being moved. */
export type ChangeState = Change<'awaited'>;

interface Options {
  readonly database: Database;
  readonly clock: DomainClock;
  readonly record: (tx: Queryable, events: readonly NewEvent[]) => Promise<readonly RecordedEvent[]>;
  readonly recordTransition?: RecordTransition;
  /** Starts deliveries; called after the commit. */
  readonly deliver: (events: readonly RecordedEvent[]) => void;
  /** Receives the events of a change whose commit got no answer, so that it is unknown whether they are stored. */
  readonly doubt: (events: readonly RecordedEvent[]) => void;
  /** Sets the alarm for the earliest new timer; called after the commit. */
  readonly arm: (dueAt: number) => void;
}

/** Creates the function that writes state, events and timers in one transaction. */
export function createCommit(options: Options): CommitChange {
  const { database, clock, record, recordTransition, deliver, doubt, arm } = options;
  const commit = async <T>(work: (change: StateChange) => Promise<T>): Promise<T> => {
    const recorded: RecordedEvent[] = [];
    let earliest = Number.POSITIVE_INFINITY;

    const run = database.transaction((tx) => {
      const now = clock.now();
      return work({
        tx,
        now,
        async recordEvents(events) {
          if (events.length > 0) for (const event of await record(tx, events)) recorded.push(event);
        },
        async schedule(timers) {
          if (timers.length === 0) return;
          await insertTimers(tx, timers);
          for (const timer of timers) earliest = Math.min(earliest, timer.dueAt);
        },
        async recordTransition(transition) {
          await recordTransition?.(tx, transition, now);
        },
      });
    });
    const result = await run.catch((error: unknown) => {
      if (mayHaveCommitted(error)) {
        if (earliest !== Number.POSITIVE_INFINITY) arm(earliest);
        doubt(recorded);
      }
      throw error;
    });

    if (earliest !== Number.POSITIVE_INFINITY) arm(earliest);
    if (recorded.length > 0) deliver(recorded);
    return result;
  };
  return Object.assign(commit, { gate: 'held' } as const);
}

/** The same for all other callers: waits for the gate of time. */
export function behindGate(commit: CommitChange, gate: WriteGate): ChangeState {
  const change = <T>(work: (change: StateChange) => Promise<T>): Promise<T> =>
    gate.shared(() => commit(work));
  return Object.assign(change, { gate: 'awaited' } as const);
}
