/** Lets a few at a time do what needs much of something. */
export interface Slots {
  /** Runs `work` when a slot is free, in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Makes `count` slots. */
export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
