import type { ConnectionCause } from '../../contract/sandbox/connections.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { mayHaveCommitted } from '../../runtime/database/errors.ts';
import type { SessionState } from '../db/core-tables.ts';
import type { NewEvent } from '../webhooks/ledger.ts';
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
  /** Stores events and their deliveries. Resolves with the subscriptions that receive them. */
  readonly record: (tx: Queryable, events: readonly NewEvent[]) => Promise<Iterable<string>>;
  readonly recordTransition?: RecordTransition | undefined;
  /** Starts deliveries to subscriptions; called after the commit, also after one that got no answer. */
  readonly deliver: (subscriptionIds: ReadonlySet<string>) => void;
  /** Sets the alarm for the earliest new timer; called after the commit. */
  readonly arm: (dueAt: number) => void;
}

/** Creates the function that writes state, events and timers in one transaction. */
export function createCommit(options: Options): CommitChange {
  const { database, clock, record, recordTransition, deliver, arm } = options;
  const commit = async <T>(work: (change: StateChange) => Promise<T>): Promise<T> => {
    const receivers = new Set<string>();
    let earliest = Number.POSITIVE_INFINITY;

    const run = database.transaction((tx) => {
      const now = clock.now();
      return work({
        tx,
        now,
        async recordEvents(events) {
          for (const id of await record(tx, events)) receivers.add(id);
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
    const goOn = (): void => {
      if (earliest !== Number.POSITIVE_INFINITY) arm(earliest);
      if (receivers.size > 0) deliver(receivers);
    };
    try {
      const result = await run;
      goOn();
      return result;
    } catch (error) {
      if (mayHaveCommitted(error)) goOn();
      throw error;
    }
  };
  return Object.assign(commit, { gate: 'held' } as const);
}

/** The same for all other callers: waits for the gate of time. */
export function behindGate(commit: CommitChange, gate: WriteGate): ChangeState {
  const change = <T>(work: (change: StateChange) => Promise<T>): Promise<T> =>
    gate.shared(() => commit(work));
  return Object.assign(change, { gate: 'awaited' } as const);
}
