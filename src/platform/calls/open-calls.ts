/** What is under way. */
export interface OpenCalls {
  readonly count: number;
  /** Counts a call until it has settled. It must not reject. */
  add(call: Promise<void>): void;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
}

export function createOpenCalls(): OpenCalls {
  let count = 0;
  let waiters: (() => void)[] = [];

  const leave = (): void => {
    count -= 1;
    if (count > 0) return;
    const done = waiters;
    waiters = [];
    for (const resolve of done) resolve();
  };

  return {
    get count() {
      return count;
    },
    add(call) {
      count += 1;
      void call.finally(leave);
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}
