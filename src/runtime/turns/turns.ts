/** Admits this many callers at once; the others wait in order of arrival. */
export interface Turns {
  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  enter(): Promise<() => void>;
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Number of callers that wait. */
  readonly waiting: number;
}

export function createTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = [];
  let inside = 0;

  const leave = (): void => {
    const next = waiting.shift();
    // The turn passes directly to the next caller, so no other caller can overtake those that wait.
    if (next === undefined) inside -= 1;
    else next();
  };

  const enter = async (): Promise<() => void> => {
    if (inside < atOnce) inside += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return leave;
  };

  return {
    enter,
    async run(work) {
      const end = await enter();
      try {
        return await work();
      } finally {
        end();
      }
    },
    get waiting() {
      return waiting.length;
    },
  };
}
