import type { Clock } from '../../runtime/clock/clock.ts';
import type { ClockState } from './service-state.ts';

/** The latest virtual time: the end of the year 9999, the last that all date formats support. */
export const LATEST_TIME = 253_402_300_799_999;

/** Virtual time, for trials, licenses, `createdAt` and payload timestamps. It never goes backwards. */
export interface DomainClock {
  /** Virtual time in epoch ms; never less than an earlier result. */
  now(): number;
}

/** The domain clock with the functions that move it, which only `advance` and the timers use. */
export interface MovableClock extends DomainClock {
  readonly frozen: boolean;
  /** The state that sets the clock to `at`; `frozen` defaults to the present state. */
  stateAt(at: number, frozen?: boolean): ClockState;
  /** Applies a state that has been saved. */
  moveTo(state: ClockState): void;
  /** Holds the clock at `at`, but never moves it backwards, until the next `moveTo`. */
  pin(at: number): void;
  /** Calls `listener` whenever the clock has been moved, frozen or started, not when time passes. */
  onMove(listener: () => void): void;
}

/** A clock with an offset from the wall clock. If the wall clock is set back, it goes on until that has caught up. */
export function createDomainClock(systemClock: Clock, initial: ClockState): MovableClock {
  let state = initial;
  let pinned: number | null = null;
  let last = 0;
  let readAt = 0;
  const listeners: (() => void)[] = [];

  const now = (): number => {
    const elapsed = systemClock.elapsed();
    const running = Math.max(systemClock.now() + state.offsetMs, last + elapsed - readAt);
    const reading = pinned ?? state.frozenAt ?? running;
    readAt = elapsed;
    last = Math.min(Math.max(last, reading), LATEST_TIME);
    return Math.floor(last);
  };

  return {
    now,
    get frozen() {
      return state.frozenAt !== null;
    },
    stateAt: (at, frozen = state.frozenAt !== null) => ({
      offsetMs: at - systemClock.now(),
      frozenAt: frozen ? at : null,
    }),
    moveTo(next) {
      // Until here, time ran by the previous state.
      now();
      state = next;
      pinned = null;
      now();
      for (const listener of listeners) listener();
    },
    pin(at) {
      pinned = Math.max(at, now());
    },
    onMove(listener) {
      listeners.push(listener);
    },
  };
}
