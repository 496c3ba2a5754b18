import type { Clock } from '../../../../src/runtime/clock/clock.ts';

/** A deadline that can be extended while it runs. */
export interface Deadline {
  extend(ms: number): void;
  stop(): void;
}

/** Calls `expire` once, `ms` milliseconds from now, plus any extensions. */
export function startDeadline(clock: Clock, ms: number, expire: () => void): Deadline {
  let extra = 0;
  const fire = (): void => {
    if (extra === 0) {
      expire();
      return;
    }
    const more = extra;
    extra = 0;
    cancel = clock.after(more, fire, { keepAlive: true });
  };
  let cancel = clock.after(ms, fire, { keepAlive: true });
  return {
    extend(more) {
      extra += more;
    },
    stop: () => cancel(),
  };
}
