/** Runs work of the same name one after the other, in the order of the calls. Other names do not wait. */
export type InTurn = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Makes turns of its own. A failure is the caller's; the next in turn runs all the same. */
export function createTurns(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (last.get(name) === mine) last.delete(name);
    }
  };
}
