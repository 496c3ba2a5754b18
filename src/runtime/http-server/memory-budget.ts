export type MemoryBudget = ReturnType<typeof createMemoryBudget>;

/** The share of one request in a budget. */
export type Share = ReturnType<MemoryBudget['enter']>;

/**
 * A budget of `maxBytes` of memory that requests share. The first `freeBytes` of each request are not counted, so
 * small requests always find room; the number of connections limits how many there are.
 */
export function createMemoryBudget(maxBytes: number, freeBytes: number) {
  let taken = 0;
  return {
    /**
     * The share of a request. `abort` is called when there is no room for it; at that point it has been returned, and
     * the request must release its memory.
     */
    enter(abort: () => void) {
      let counted = -freeBytes;
      /** Returns everything. Further calls do nothing. */
      const leave = (): void => {
        taken -= Math.max(0, counted);
        counted = Number.NEGATIVE_INFINITY;
      };
      return {
        /** Takes this many more bytes. */
        grow(bytes: number): void {
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
