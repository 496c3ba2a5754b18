import type { Clock } from '../../src/runtime/clock/clock.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';

/** The system clock, whose wall time a test can move forward without waiting. */
export interface ShiftedClock extends Clock {
  /** Moves the wall time forward. Monotonic time and timers are unaffected, as when a clock is set. */
  shift(ms: number): void;
}

export function createShiftedClock(): ShiftedClock {
  let offset = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + offset,
    shift(ms) {
      offset += ms;
    },
  };
}
