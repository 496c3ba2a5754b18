import type { Queryable } from '../../runtime/database/database.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { type DomainClock, LATEST_TIME, type MovableClock } from './domain-clock.ts';
import { saveClock } from './service-state.ts';
import type { TimerRunner } from './timer-runner.ts';
import { countTimers, readTimers, type StoredTimer } from './timers.ts';
import type { WriteGate } from './write-gate.ts';

/** A timer that has fired or will fire. */
export interface TimerEntry {
  /** Id of the message or the connection that it concerns. */
  readonly id: string;
  /** Virtual epoch ms at which it is due. */
  readonly at: number;
  /** Its kind. */
  readonly what: string;
}

/** Controls the domain clock. */
export interface VirtualTime extends DomainClock {
  readonly frozen: boolean;
  /**
   * Moves virtual time forward at once, by `ms` or to the epoch ms `to`. All timers that become due fire in order, each
   * at its due time, while writes of the API wait. Throws `invalid_request` for a step backwards.
   */
  advance(step: TimeStep): Promise<{ now: number; fired: TimerEntry[] }>;
  /** Freezes virtual time, so that only `advance` moves it. Returns the present virtual time. */
  freeze(): Promise<number>;
  /** Lets virtual time run again with the wall clock, from its present value. Returns the present virtual time. */
  run(): Promise<number>;
  /** The timers that fire next, soonest first; with `until`, in virtual epoch ms, only those that are due by then. */
  due(limit: number, until?: number): Promise<TimerEntry[]>;
  /** How many timers there are, or are due by a virtual epoch ms. */
  countDue(until?: number): Promise<number>;
}

/** A duration in ms, or a target in virtual epoch ms. */
export type TimeStep = { readonly ms: number } | { readonly to: number };

interface Options {
  readonly database: Queryable;
  readonly clock: MovableClock;
  readonly gate: WriteGate;
  readonly runner: TimerRunner;
}

function toEntry({ id, dueAt: at, kind: what, payload }: StoredTimer): TimerEntry {
  const { messageId, connectionId } = payload as { messageId?: string; connectionId?: string };
  return { id: messageId ?? connectionId ?? String(id), at, what };
}

function findTarget(step: TimeStep, now: number): number {
  const field = 'ms' in step ? 'ms' : 'to';
  const target = 'ms' in step ? now + step.ms : step.to;
  if (!Number.isSafeInteger(target) || target > LATEST_TIME) {
    throw new PlatformError('invalid_request', { field, hint: 'time ends with the year 9999' });
  }
  if (target < now) throw new PlatformError('invalid_request', { field, hint: 'time only moves forward' });
  return target;
}

export function createVirtualTime({ database, clock, gate, runner }: Options): VirtualTime {
  /** Saves the state before it is applied, so that a crash in between keeps the saved time. */
  const settleAt = async (at: number, frozen: boolean): Promise<void> => {
    const state = clock.stateAt(at, frozen);
    await saveClock(database, state);
    clock.moveTo(state);
    await runner.rearm();
  };

  const stepTo = async (target: number): Promise<StoredTimer[]> => {
    const fired: StoredTimer[] = [];
    for (;;) {
      const batch = await runner.fireBatch(target, true);
      if (batch.length === 0) return fired;
      for (const timer of batch) fired.push(timer);
    }
  };

  return {
    now: () => clock.now(),
    get frozen() {
      return clock.frozen;
    },

    advance: (step) =>
      gate.exclusive(async () => {
        const start = clock.now();
        const target = findTarget(step, start);
        clock.pin(start);
        let reached = start;
        try {
          const fired = await stepTo(target);
          reached = target;
          return { now: target, fired: fired.map(toEntry) };
        } finally {
          const state = clock.stateAt(Math.max(reached, clock.now()));
          // Time goes on even if it cannot be saved: a start then begins at the time of the last timer.
          await saveClock(database, state).finally(() => clock.moveTo(state));
          await runner.rearm();
        }
      }),

    freeze: () =>
      gate.exclusive(async () => {
        const at = clock.now();
        await settleAt(at, true);
        return at;
      }),

    run: () =>
      gate.exclusive(async () => {
        const at = clock.now();
        await settleAt(at, false);
        return at;
      }),

    async due(limit, until = Number.MAX_SAFE_INTEGER) {
      const timers = await readTimers(database, until, limit);
      return timers.map(toEntry);
    },

    countDue: (until = Number.MAX_SAFE_INTEGER) => countTimers(database, until),
  };
}
