import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Lease } from '../db/lease.ts';
import { createKeptLeases } from './kept-leases.ts';
import type { Presence } from './presence.ts';

/** One run of a key, under its lease. */
export interface Run {
  readonly key: string;
  readonly lease: Lease;
  /** Aborts when another process may have the lease: later writes have no effect. */
  readonly lost: AbortSignal;
  /** Aborts when no further step may start. */
  readonly stopping: AbortSignal;
  /** Aborts when work in progress must end: some seconds after `stopping`. */
  readonly aborting: AbortSignal;
  /** True if other keys wait for a place in this process: a run that has more to do should end with `more` soon. */
  readonly othersWait: () => boolean;
}

/**
 * How a run ended:
 * - `idle`: nothing more is due.
 * - `more`: something is still due, but other keys that wait come first.
 * - `stopped`: it cannot continue in this process now. `busy` replaces it if it did not begin here: another process
 *   has the lease, or this one stops.
 */
export type RunEnd = 'idle' | 'more' | 'stopped';

/**
 * A kind of work that survives its process. The keys and their due times are stored in the database, and one
 * process at a time works on a key.
 */
export interface Duty {
  /** Prefix of its leases and notifications. */
  readonly kind: string;
  /** Maximum number of keys that a process works on concurrently. The others wait in the order in which they came. */
  readonly concurrency: number;
  /** Keys keep their lease between runs: for work that others never take a lease for. See `createKeptLeases`. */
  readonly keepsLeases?: boolean;
  /** Keys of one group leave room for others: alone, they have half of the concurrency. See `Turns`. */
  groupOf?(key: string): string | undefined;
  /**
   * Up to `limit` keys that are due at `now` and not leased by another living process, in the order in which they became
   * due. Throws as `query` does.
   */
  readDue(now: number, limit: number): Promise<readonly string[]>;
  /** When the key is due, epoch ms; null if nothing is due. Throws as `query` does. */
  readDueAt(key: string): Promise<number | null>;
  /** Does what is due, step by step. Throws as `query` does; the key is then taken up again by the next check. */
  run(run: Run): Promise<RunEnd>;
}

export interface WorkerOptions {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Interval between checks for due keys. Default: 5 s, or 1 s if no notifications arrive. */
  readonly checkEveryMs?: number | undefined;
}

export type Worker = ReturnType<typeof createWorker>;

const CHECK_EVERY_MS = 5_000;
const CHECK_EVERY_UNNOTIFIED_MS = 1_000;
/**
 * Maximum number of keys that checks collect. A key that waits is only a string and a promise, so every due key gets
 * a place in the order, and a key that has more to do takes its next place behind all of them.
 */
const MAX_KNOWN = 10_000;
/** How long work in progress may take to finish when the process stops. */
const GRACE_MS = 8_000;

interface Running {
  /** Notified since the run started, which may have checked before. */
  again: boolean;
  readonly begun: Promise<void>;
  readonly ended: Promise<RunEnd | 'busy'>;
}

/**
 * Works on the keys of one duty. A notification names the key to check. Periodic checks find what was not
 * notified, and keys of a dead process are taken up once its death is noticed.
 */
export function createWorker(options: WorkerOptions, duty: Duty) {
  const { presence, notifier, clock, logger } = options;
  const { kind, concurrency, keepsLeases = false } = duty;
  const checkEveryMs =
    options.checkEveryMs ?? (notifier.receives ? CHECK_EVERY_MS : CHECK_EVERY_UNNOTIFIED_MS);
  const stopping = new AbortController();
  const aborting = new AbortController();
  const signals = { stopping: stopping.signal, aborting: aborting.signal };
  const turns = createTurns(concurrency);
  const othersWait = (): boolean => turns.waiting > 0;
  const running = new Map<string, Running>();
  const leases = createKeptLeases(options, kind, (key) => void notifyIfDue(key));
  /** Tells the process that keeps the lease of a key that it is due. */
  const keeperTopic = `${kind}-keeper`;
  /** Resolves when a process that stops has released what it kept. */
  let released: Promise<void> = Promise.resolve();
  let started = false;
  let failing = false;
  /** The last check found as many keys as it requested, so there may be more. */
  let moreDue = false;
  let unsubscribe = (): void => undefined;
  let unhear = (): void => undefined;

  /** The run of a key in this process; at most one at a time. */
  function run(key: string): Running {
    const current = running.get(key);
    if (current !== undefined) {
      current.again = true;
      return current;
    }
    const begun = Promise.withResolvers<void>();
    const ended = turns.run(
      async () => {
        begun.resolve();
        const end = await runToEnd(key, entry);
        // After an incomplete check, keys that nobody has read yet come first. The next check finds this one.
        // A stopping process no longer receives notifications, so this one goes to the others.
        if (end === 'more' ? !moreDue : end === 'stopped' && stopping.signal.aborted)
          notifier.notify(kind, key);
        return end;
      },
      { group: duty.groupOf?.(key) },
    );
    const entry: Running = { again: false, begun: begun.promise, ended };
    running.set(key, entry);
    return entry;
  }

  /**
   * Runs until nothing of the key is due. A notification that arrived during a run could not take the lease, so
   * the loop checks again.
   */
  async function runToEnd(key: string, entry: Running): Promise<RunEnd | 'busy'> {
    try {
      for (let began = false; ; began = true) {
        if (stopping.signal.aborted) return began ? 'stopped' : 'busy';
        entry.again = false;
        const end = await runUnderLease(key);
        if (end !== 'idle') return end;
        const dueAt = await duty.readDueAt(key);
        const now = clock.now();
        if (dueAt !== null && dueAt > now) notifier.notify(kind, key, dueAt - now);
        if (!entry.again && (dueAt === null || dueAt > now)) return 'idle';
      }
    } finally {
      // In the same turn as the decision: a later notification starts a new run.
      running.delete(key);
    }
  }

  async function runUnderLease(key: string): Promise<RunEnd | 'busy'> {
    const taken = await leases.take(key);
    if (taken === null) {
      if (keepsLeases) notifier.tell(keeperTopic, key);
      return 'busy';
    }
    const { lease, lost } = taken;
    let end: RunEnd | undefined;
    try {
      end = await duty.run({ key, lease, lost, ...signals, othersWait });
      return end;
    } finally {
      await (keepsLeases && end === 'idle' ? leases.keep(key, taken) : taken.release());
    }
  }

  function onTold(key: string): void {
    // A process that stops receives nothing more, so this one goes to the others.
    if (stopping.signal.aborted) void released.then(() => notifier.notify(kind, key));
    else if (running.has(key) || leases.has(key)) void begin(key);
  }

  async function notifyIfDue(key: string): Promise<void> {
    const dueAt = await duty.readDueAt(key).catch(() => null);
    if (dueAt !== null && dueAt <= clock.now()) notifier.notify(kind, key);
  }

  /** Resolves when the run has started. */
  async function begin(key: string): Promise<void> {
    const entry = run(key);
    entry.ended.then(
      (end) => {
        if (moreDue && end !== 'stopped' && running.size <= MAX_KNOWN / 2) {
          moreDue = false;
          checks.trigger();
        }
      },
      (err: unknown) => {
        if (!stopping.signal.aborted)
          logger.error({ err, kind, key }, 'work failed; it is retried at the next check');
      },
    );
    await entry.begun;
  }

  async function check(): Promise<void> {
    moreDue = false;
    const room = MAX_KNOWN - running.size;
    const due = room > 0 ? await duty.readDue(clock.now(), room) : [];
    // Not by a notification: it might reach processes that do not work.
    for (const key of due) if (!running.has(key)) void begin(key);
    moreDue = due.length >= room;
    failing = false;
  }

  function noteFailure(err: unknown): void {
    if (!failing) logger.warn({ err, kind }, 'due work could not be read; retrying');
    failing = true;
  }

  const checks = repeat({ clock, everyMs: checkEveryMs, run: check, onError: noteFailure });

  return {
    /** Starts to work. Throws as `query` does. */
    async start(): Promise<void> {
      started = true;
      unsubscribe = notifier.subscribe(kind, begin);
      if (keepsLeases) unhear = notifier.hear(keeperTopic, onTold);
      presence.onLeft(kind, (key) => void begin(key));
      presence.onReturn(checks.trigger);
      await checks.runNow().catch(noteFailure);
      checks.start();
    },
    /**
     * Notifies that the key is due in `delayMs`. Returns at once. Also works in a process that does not run this
     * duty.
     */
    notify: (key: string, delayMs?: number): void => notifier.notify(kind, key, delayMs),
    /**
     * Runs the key in this process, or joins a run in progress. Resolves with its end; rejects with what the run
     * throws.
     */
    runNow: (key: string): Promise<RunEnd | 'busy'> => run(key).ended,
    /** Works on everything that is due. Resolves when nothing is in progress in this process. */
    async settle(): Promise<void> {
      for (let moving = started; moving && !stopping.signal.aborted; ) {
        const due = await duty.readDue(clock.now(), MAX_KNOWN);
        const runs = [...running.values(), ...due.filter((key) => !running.has(key)).map(run)];
        const ends = await Promise.allSettled(runs.map(({ ended }) => ended));
        moving = ends.some(
          (end) => end.status === 'fulfilled' && (end.value === 'idle' || end.value === 'more'),
        );
      }
    },
    /**
     * Starts nothing new. Work in progress gets a few seconds to finish and is then aborted; it can safely be
     * resumed.
     */
    async close(): Promise<void> {
      unsubscribe();
      stopping.abort();
      const cancel = clock.after(GRACE_MS, () => aborting.abort(new Error('the process is stopping')), {
        keepAlive: true,
      });
      released = leases.close();
      await Promise.all([checks.stop(), released]);
      await Promise.allSettled([...running.values()].map(({ ended }) => ended));
      cancel();
      unhear();
    },
  };
}
