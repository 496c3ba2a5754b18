import type { Clock } from '../../runtime/clock/clock.ts';
import type { Lease } from '../db/lease.ts';
import type { Presence } from './presence.ts';

/** How long a lease is kept without a run. */
const KEPT_MS = 60_000;
/** Maximum number of leases that are kept: each heartbeat reads them. */
const MAX_KEPT = 500;

/** A lease that this process has. */
export interface Taken {
  readonly lease: Lease;
  /** Aborts when another process may have it. */
  readonly lost: AbortSignal;
  /** Resolves when others can take it. Never rejects. */
  release(): Promise<void>;
}

/**
 * Taking and releasing a lease writes its row twice, and while somebody holds a snapshot of the database, each of these
 * writes slows the next ones down. So a key that is often worked on keeps its lease. `onReleased` is called when a lease
 * was kept for long enough: others that needed it meanwhile may have given up.
 */
export function createKeptLeases(
  { presence, clock }: { readonly presence: Pick<Presence, 'hold'>; readonly clock: Clock },
  kind: string,
  onReleased: (key: string) => void,
) {
  /** The one that was used last is the last. */
  const kept = new Map<string, { readonly taken: Taken; readonly cancel: () => void }>();
  const leaving = new Map<string, Promise<void>>();
  let closed = false;

  function takeKept(key: string): Taken | undefined {
    const found = kept.get(key);
    found?.cancel();
    kept.delete(key);
    return found?.taken;
  }

  async function takeNew(key: string): Promise<Taken | null> {
    const taken = Promise.withResolvers<Taken | null>();
    const over = Promise.withResolvers<void>();
    const held = presence.hold(`${kind}:${key}`, (lease, lost) => {
      taken.resolve({ lease, lost, release });
      return over.promise;
    });
    const ended = held.then(() => taken.resolve(null), taken.reject);
    const release = (): Promise<void> => {
      over.resolve();
      return ended;
    };
    return await taken.promise;
  }

  function releaseKept(key: string): void {
    const left = takeKept(key)
      ?.release()
      .then(() => {
        leaving.delete(key);
        onReleased(key);
      });
    if (left !== undefined) leaving.set(key, left);
  }

  return {
    has: (key: string): boolean => kept.has(key),
    /** The lease of the key, kept or new; null if another process has it. Throws as `query` does. */
    async take(key: string): Promise<Taken | null> {
      await leaving.get(key);
      const taken = takeKept(key);
      if (taken === undefined || !taken.lost.aborted) return taken ?? (await takeNew(key));
      await taken.release();
      return await takeNew(key);
    },
    /** Keeps the lease for the next run. Resolves at once, or when it was released because this process stops. */
    async keep(key: string, taken: Taken): Promise<void> {
      if (closed) return await taken.release();
      const [oldest] = kept.keys();
      if (kept.size >= MAX_KEPT && oldest !== undefined) releaseKept(oldest);
      kept.set(key, { taken, cancel: clock.after(KEPT_MS, () => releaseKept(key)) });
    },
    /** Releases what is kept. */
    async close(): Promise<void> {
      closed = true;
      await Promise.all([...kept.keys()].map((key) => takeKept(key)?.release()));
    },
  };
}
