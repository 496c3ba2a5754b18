import { Skip } from './check.ts';

/** Creates something at its first use and keeps it. */
export type Once = <T>(what: string, make: () => Promise<T>) => Promise<T>;

/**
 * What several checks need is created once, by the first of them. If that fails, the first check gets the
 * error, and the later ones are skipped: one problem is reported once.
 */
export function createOnce(): Once {
  const made = new Map<string, Promise<unknown>>();
  return <T>(what: string, make: () => Promise<T>): Promise<T> => {
    const known = made.get(what);
    if (known !== undefined) return known as Promise<T>;
    const fresh = make();
    const kept = fresh.catch((error: unknown) => {
      if (error instanceof Skip) throw error;
      throw new Skip(`needs ${what}: ${error instanceof Error ? error.message : String(error)}`);
    });
    kept.catch(() => undefined);
    made.set(what, kept);
    return fresh;
  };
}
