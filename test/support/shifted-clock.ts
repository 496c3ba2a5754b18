import type { Clock } from '../../src/runtime/clock/clock.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';

/** The machine's clock, which a test can put forward: time passes without being waited for. */
export interface ShiftedClock extends Clock {
  /** Moves both clocks on. Timers that run keep their time. */
  shift(ms: number): void;
}

export function createShiftedClock(): ShiftedClock {
  let offset = 0;
  return {
    now: () => systemClock.now() + offset,
    elapsed: () => systemClock.elapsed() + offset,
    after: systemClock.after,
    sleep: systemClock.sleep,
    shift(ms) {
      offset += ms;
    },
  };
}
