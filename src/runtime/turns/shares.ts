/** A capacity, such as bytes or places, that groups share. */
export interface Shares {
  /**
   * Resolves when the group may use this much, with the function that returns it. The callers of a group wait in order
   * of arrival. More than the whole capacity counts as the whole.
   */
  enter(group: string, amount: number): Promise<() => void>;
  run<T>(group: string, amount: number, work: () => Promise<T>): Promise<T>;
}

interface Waiter {
  readonly amount: number;
  readonly admit: () => void;
}

interface Group {
  used: number;
  readonly waiting: Waiter[];
}

/**
 * A group may use at most as much as then remains free. So one group alone uses half of the capacity, and however many
 * groups are stuck, another one still finds room. A group that uses nothing is admitted if it fits at all.
 */
export function createShares(capacity: number): Shares {
  const groups = new Map<string, Group>();
  let free = capacity;

  function fits({ used }: Group, amount: number): boolean {
    return amount <= free && (used === 0 || used + amount <= free - amount);
  }

  function take(name: string, group: Group, amount: number): () => void {
    free -= amount;
    group.used += amount;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      free += amount;
      group.used -= amount;
      admitWaiting();
      if (group.used === 0 && group.waiting.length === 0) groups.delete(name);
    };
  }

  /** Those that use least come first. */
  function admitWaiting(): void {
    const byUse = [...groups.values()].filter(({ waiting }) => waiting.length > 0);
    for (const group of byUse.sort((a, b) => a.used - b.used)) {
      for (
        let [next] = group.waiting;
        next !== undefined && fits(group, next.amount);
        [next] = group.waiting
      ) {
        group.waiting.shift();
        next.admit();
      }
    }
  }

  const enter = async (name: string, wanted: number): Promise<() => void> => {
    const amount = Math.min(wanted, capacity);
    const group = groups.get(name) ?? { used: 0, waiting: [] };
    groups.set(name, group);
    if (group.waiting.length === 0 && fits(group, amount)) return take(name, group, amount);
    return await new Promise((resolve) => {
      // The capacity is taken here, so that no other caller takes it before this one continues.
      group.waiting.push({ amount, admit: () => resolve(take(name, group, amount)) });
    });
  };

  return {
    enter,
    async run(group, amount, work) {
      const leave = await enter(group, amount);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
