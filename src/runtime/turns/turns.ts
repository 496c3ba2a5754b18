/** What a caller takes. */
export interface Share {
  /** Without a group, everything that is free is open to a caller. */
  readonly group?: string | undefined;
  /** Default: 1. More than the whole capacity counts as the whole. */
  readonly amount?: number;
}

interface Waiting {
  readonly group: string | undefined;
  readonly amount: number;
  readonly begin: () => void;
}

export type Turns = ReturnType<typeof createTurns>;

/**
 * A capacity, such as places or bytes, that callers share. They wait in order of arrival, except that one that fits
 * passes those of other groups that do not. A group may use at most as much as then remains free. So one group alone
 * uses half of the capacity, and however many groups are stuck, another one still finds room. A group that uses
 * nothing is admitted if it fits at all.
 */
export function createTurns(capacity: number) {
  const used = new Map<string, number>();
  const waiting: Waiting[] = [];
  let free = capacity;

  function fits({ group, amount }: Omit<Waiting, 'begin'>): boolean {
    const own = group === undefined ? 0 : (used.get(group) ?? 0);
    return amount <= free && (own === 0 || own + amount <= free - amount);
  }

  function take(group: string | undefined, amount: number): void {
    free -= amount;
    if (group === undefined) return;
    const own = (used.get(group) ?? 0) + amount;
    if (own === 0) used.delete(group);
    else used.set(group, own);
  }

  /** Gives what is free to those that wait, so that no later caller can overtake them. */
  function admit(): void {
    const passed = new Set<string | undefined>();
    for (let index = 0; index < waiting.length && free > 0; ) {
      const next = waiting[index];
      if (next === undefined || passed.has(next.group) || !fits(next)) {
        passed.add(next?.group);
        index += 1;
      } else {
        waiting.splice(index, 1);
        take(next.group, next.amount);
        next.begin();
      }
    }
  }

  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  const enter = async ({ group, amount: wanted = 1 }: Share = {}): Promise<() => void> => {
    const amount = Math.min(wanted, capacity);
    if (fits({ group, amount }) && !waiting.some((other) => other.group === group)) take(group, amount);
    else await new Promise<void>((resolve) => waiting.push({ group, amount, begin: resolve }));
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      take(group, -amount);
      admit();
    };
  };

  return {
    enter,
    async run<T>(work: () => Promise<T>, share?: Share): Promise<T> {
      const end = await enter(share);
      try {
        return await work();
      } finally {
        end();
      }
    },
    /** Number of callers that wait. */
    get waiting(): number {
      return waiting.length;
    },
  };
}
