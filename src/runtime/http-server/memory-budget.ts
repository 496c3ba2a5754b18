/** The share of one request in a budget. */
export interface Share {
  /** Takes this many more bytes. */
  grow(bytes: number): void;
  /** Returns everything. Further calls do nothing. */
  leave(): void;
}

/** Memory that requests share. */
export interface MemoryBudget {
  /**
   * The share of a request. `abort` is called when there is no room for it; at that point it has been returned, and the
   * request must release its memory.
   */
  enter(abort: () => void): Share;
}

/**
 * Creates a budget of `maxBytes`. The first `freeBytes` of each request are not counted, so small requests always find
 * room; the number of connections limits how many there are.
 */
export function createMemoryBudget(maxBytes: number, freeBytes: number): MemoryBudget {
  let taken = 0;
  return {
    enter(abort) {
      let counted = -freeBytes;
      const leave = (): void => {
        taken -= Math.max(0, counted);
        counted = Number.NEGATIVE_INFINITY;
      };
      return {
        grow(bytes) {
          taken += Math.max(0, counted + bytes) - Math.max(0, counted);
          counted += bytes;
          if (taken <= maxBytes) return;
          leave();
          abort();
        },
        leave,
      };
    },
  };
}
