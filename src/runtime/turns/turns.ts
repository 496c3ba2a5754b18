/**
 * Admits this many callers at once; the others wait in order of arrival. The callers of one `group` take a further
 * place only while at least as many are free as the group has, so a group whose work takes long leaves room for
 * others: alone it has half of the places. Without a group, all places are open to a caller.
 */
export interface Turns {
  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  enter(group?: string): Promise<() => void>;
  run<T>(work: () => Promise<T>, group?: string): Promise<T>;
  /** Number of callers that wait. */
  readonly waiting: number;
}

interface Waiting {
  readonly group: string | undefined;
  readonly begin: () => void;
}

export function createTurns(atOnce: number): Turns {
  const waiting: Waiting[] = [];
  const groups = new Map<string, number>();
  let inside = 0;

  const sizeOf = (group: string): number => groups.get(group) ?? 0;
  const mayEnter = (group: string | undefined): boolean =>
    inside < atOnce && (group === undefined || sizeOf(group) < atOnce - inside);

  function admit(group: string | undefined): void {
    inside += 1;
    if (group !== undefined) groups.set(group, sizeOf(group) + 1);
  }

  function leave(group: string | undefined): void {
    inside -= 1;
    if (group !== undefined) {
      if (sizeOf(group) > 1) groups.set(group, sizeOf(group) - 1);
      else groups.delete(group);
    }
    // The turn passes directly to those that wait, so no later caller can overtake them.
    for (let index = 0; index < waiting.length && inside < atOnce; ) {
      const next = waiting[index];
      if (next === undefined || !mayEnter(next.group)) index += 1;
      else {
        waiting.splice(index, 1);
        admit(next.group);
        next.begin();
      }
    }
  }

  const enter = async (group?: string): Promise<() => void> => {
    if (mayEnter(group)) admit(group);
    else await new Promise<void>((resolve) => waiting.push({ group, begin: resolve }));
    return () => leave(group);
  };

  return {
    enter,
    async run(work, group) {
      const end = await enter(group);
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
