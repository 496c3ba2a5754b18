import type { Clock } from '../../src/runtime/clock/clock.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';

/** The machine's clock, whose wall time a test can put forward: hours pass without being waited for. */
export interface ShiftedClock extends Clock {
  /** Moves the wall time on. Monotonic time and timers go on as they did, as when a clock is set. */
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
