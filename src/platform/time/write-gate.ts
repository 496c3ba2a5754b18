/** A lock that writers share, and that a change of the clock holds exclusively. */
export interface WriteGate {
  /** Runs at once unless an exclusive holder runs or waits. */
  shared<T>(run: () => Promise<T>): Promise<T>;
  /** Runs once all present holders are done. Later ones wait, so that it cannot starve. */
  exclusive<T>(run: () => Promise<T>): Promise<T>;
}

interface Waiter {
  readonly exclusive: boolean;
  readonly enter: () => void;
}

/**
 * First come, first served. Not reentrant: a holder must not acquire the gate again, because an exclusive waiter in
 * between would cause a deadlock.
 */
export function createWriteGate(): WriteGate {
  const waiters: Waiter[] = [];
  let sharing = 0;
  let taken = false;

  const admit = (): void => {
    for (let next = waiters[0]; next !== undefined; next = waiters[0]) {
      if (taken || (next.exclusive && sharing > 0)) return;
      waiters.shift();
      if (next.exclusive) taken = true;
      else sharing += 1;
      next.enter();
    }
  };

  const enter = (exclusive: boolean): Promise<void> =>
    new Promise((resolve) => {
      waiters.push({ exclusive, enter: resolve });
      admit();
    });

  return {
    async shared(run) {
      await enter(false);
      try {
        return await run();
      } finally {
        sharing -= 1;
        admit();
      }
    },
    async exclusive(run) {
      await enter(true);
      try {
        return await run();
      } finally {
        taken = false;
        admit();
      }
    },
  };
}
