import type { Clock } from '../../runtime/clock/clock.ts';
import type { ClockState } from './service-state.ts';

/** The latest virtual time: the end of the year 9999, which every date format can write. */
export const LATEST_TIME = 253_402_300_799_999;

/** The time of the domain: trials, licenses, `createdAt`, payload timestamps. Virtual, and only forward. */
export interface DomainClock {
  /** Virtual time in epoch ms; never less than what it said before. */
  now(): number;
}

/** The domain clock with what moves it. `advance` and the timers are built on this; nothing else is. */
export interface MovableClock extends DomainClock {
  readonly frozen: boolean;
  /** The state that would put the clock at `at`; frozen as it is now, unless `frozen` says otherwise. */
  stateAt(at: number, frozen?: boolean): ClockState;
  /** Takes over a state that has been saved. */
  moveTo(state: ClockState): void;
  /** Holds the clock at `at`, never back, until the next `moveTo`. */
  pin(at: number): void;
  /** Calls `listener` whenever the clock was moved by hand, and not when time just goes by. */
  onMove(listener: () => void): void;
}

/** A clock that runs with the wall clock at a distance. A wall clock that jumps back makes it wait. */
export function createDomainClock(systemClock: Clock, initial: ClockState): MovableClock {
  let state = initial;
  let pinned: number | null = null;
  let last = 0;
  const listeners: (() => void)[] = [];

  const now = (): number => {
    const reading = pinned ?? state.frozenAt ?? systemClock.now() + state.offsetMs;
    last = Math.min(Math.max(last, Math.floor(reading)), LATEST_TIME);
    return last;
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
