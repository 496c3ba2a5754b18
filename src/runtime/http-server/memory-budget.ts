/** The share of one request in a budget. */
export interface Share {
  /** Takes this many more bytes. */
  grow(bytes: number): void;
  /** Returns everything. Further calls do nothing. */
  leave(): void;
}

/** Memory that unauthenticated requests share. */
export interface MemoryBudget {
  /**
   * The share of a request from `address`. `abort` is called when there is no room for it; at that point it has been
   * returned, and the request must release its memory.
   */
  enter(address: string, abort: () => void): Share;
}

/**
 * Creates a budget of `maxBytes`, of which one address may take half. The first `freeBytes` of each request are not
 * counted, so small requests always find room; the number of connections limits how many there are.
 */
export function createMemoryBudget(maxBytes: number, freeBytes: number): MemoryBudget {
  const byAddress = new Map<string, number>();
  let taken = 0;
  return {
    enter(address, abort) {
      let own = 0;
      let isIn = true;
      const take = (bytes: number): number => {
        const ofAddress = (byAddress.get(address) ?? 0) + bytes;
        if (ofAddress === 0) byAddress.delete(address);
        else byAddress.set(address, ofAddress);
        taken += bytes;
        return ofAddress;
      };
      const leave = (): void => {
        if (isIn) take(-Math.max(0, own - freeBytes));
        isIn = false;
      };
      return {
        grow(bytes) {
          if (!isIn) return;
          const before = Math.max(0, own - freeBytes);
          own += bytes;
          const ofAddress = take(Math.max(0, own - freeBytes) - before);
          if (taken <= maxBytes && ofAddress <= maxBytes / 2) return;
          leave();
          abort();
        },
        leave,
      };
    },
  };
}
