/** A lock that many writers share, and that one hand on the clock takes alone. */
export interface WriteGate {
  /** Runs at once unless the gate is held, or awaited, exclusively. */
  shared<T>(run: () => Promise<T>): Promise<T>;
  /** Runs once every holder is gone; later ones wait, so that it is never starved. */
  exclusive<T>(run: () => Promise<T>): Promise<T>;
}

interface Waiter {
  readonly exclusive: boolean;
  readonly enter: () => void;
}

/**
 * First come, first served. Not reentrant: whoever runs inside must not ask the gate again, or an exclusive
 * waiter in between stops both for ever.
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
