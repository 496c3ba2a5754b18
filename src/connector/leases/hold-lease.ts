import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type Lease, releaseLease, renewLease, takeLease } from './lease.ts';

export interface LeaseKeeper {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this process among all; two processes never share it. */
  readonly owner: string;
}

export interface HoldOptions {
  readonly name: string;
  /** How long others wait for a holder that died. It is renewed three times within. */
  readonly ttlMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What became of the work: done, or not begun because somebody else does it. */
export type Held<T> = { readonly held: true; readonly value: T } | { readonly held: false };

/**
 * Runs `work` while holding the lease, and renews it meanwhile. The signal given to `work` aborts once the
 * lease is lost, or with the caller's own. Throws what `work` throws.
 */
export async function holdLease<T>(
  keeper: LeaseKeeper,
  options: HoldOptions,
  work: (lease: Lease, signal: AbortSignal) => Promise<T>,
): Promise<Held<T>> {
  const { database, clock, logger, owner } = keeper;
  const { name, ttlMs } = options;
  const lease = await takeLease(database, { name, owner, now: clock.now(), ttlMs });
  if (lease === null) return { held: false };
  const lost = new AbortController();
  const stopRenewing = keepRenewed(keeper, lease, ttlMs, () => lost.abort());
  try {
    const signals = options.signal === undefined ? [lost.signal] : [lost.signal, options.signal];
    return { held: true, value: await work(lease, AbortSignal.any(signals)) };
  } finally {
    await stopRenewing();
    await releaseLease(database, lease).catch((error: unknown) => {
      logger.warn({ err: error, what: name }, 'a lease could not be released and will run out');
    });
  }
}

/** Renews until told to stop. Calls `onLost` when somebody else took over, or when no renewal came through. */
function keepRenewed(
  keeper: LeaseKeeper,
  lease: Lease,
  ttlMs: number,
  onLost: () => void,
): () => Promise<void> {
  const { database, clock, logger } = keeper;
  let renewedAt = clock.elapsed();
  let stopped = false;
  let cancel = (): void => {};
  let renewal = Promise.resolve();

  const renew = async (): Promise<void> => {
    const begun = clock.elapsed();
    try {
      if (!(await renewLease(database, lease, clock.now(), ttlMs))) return onLost();
      renewedAt = begun;
    } catch (error) {
      logger.warn({ err: error, what: lease.name }, 'a lease could not be renewed');
      if (clock.elapsed() - renewedAt >= ttlMs) return onLost();
    }
    schedule();
  };
  const schedule = (): void => {
    if (stopped) return;
    cancel = clock.after(ttlMs / 3, () => {
      renewal = renew();
    });
  };
  schedule();
  return async () => {
    stopped = true;
    cancel();
    await renewal;
  };
}
