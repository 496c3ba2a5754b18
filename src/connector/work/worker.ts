import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Lease } from '../db/lease.ts';
import type { Presence } from './presence.ts';

/** One run of a key, under its lease. */
export interface Run {
  readonly key: string;
  readonly lease: Lease;
  /** Aborts when another process may have the key: nothing that is written from then on takes effect. */
  readonly lost: AbortSignal;
  /** Aborts when no further step is to begin. */
  readonly stopping: AbortSignal;
  /** Aborts when what is under way is to be given up: some seconds after `stopping`. */
  readonly givingUp: AbortSignal;
}

/**
 * How a run ended:
 * - `idle`: nothing was due any more.
 * - `more`: something is due; others get their turn first.
 * - `stopped`: it may not go on in this process now.
 * `busy` instead of an end: another process is at it.
 */
export type RunEnd = 'idle' | 'more' | 'stopped';

/**
 * A kind of work that outlives processes. Its keys stand in the database with the time at which each is due, and one
 * process at a time works on a key.
 */
export interface Duty {
  /** Names its leases and its notifications. */
  readonly kind: string;
  /** Keys that a process works on at a time. */
  readonly concurrency: number;
  /** Up to `limit` keys that are due at `now` and that no living process holds. Throws as `query` does. */
  readDue(now: number, limit: number): Promise<readonly string[]>;
  /** When the key is due, epoch ms; null: nothing is. Throws as `query` does. */
  readDueAt(key: string): Promise<number | null>;
  /** Does what is due, step by step. Throws as `query` does; the key is then taken up again by the next look. */
  run(run: Run): Promise<RunEnd>;
}

export interface WorkerOptions {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two looks for what is due. Default: 5 s, and 1 s where notifications are not heard. */
  readonly lookEveryMs?: number | undefined;
}

export interface Worker {
  /** Begins to work. Throws as `query` does. */
  start(): Promise<void>;
  /** The key has something due in `delayMs`. Returns at once, in processes that do not work, too. */
  notify(key: string, delayMs?: number): void;
  /** Runs the key in this process, or joins its run. Resolves with its end; rejects with what the run throws. */
  runNow(key: string): Promise<RunEnd | 'busy'>;
  /** Resolves when the run of the key in this process has ended, however it ended. Undefined if there is none. */
  runOf(key: string): Promise<unknown> | undefined;
  /** Works on everything that is due, and resolves when nothing of this process is under way. */
  settle(): Promise<void>;
  /** Begins nothing; gives what is under way a few seconds, then has it given up. It is safe to take up again. */
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 5_000;
const LOOK_EVERY_UNHEARD_MS = 1_000;
/** What is under way may end for so long when the process stops. */
const GRACE_MS = 8_000;

interface Running {
  /** Notified since it began: it may have looked before. */
  again: boolean;
  readonly begun: Promise<void>;
  readonly ended: Promise<RunEnd | 'busy'>;
}

/**
 * Works on the keys of one duty. A notification says which key to look at; looking from time to time finds what was not
 * notified, and what a dead process held is taken up once it is found dead.
 */
export function createWorker(options: WorkerOptions, duty: Duty): Worker {
  const { presence, notifier, clock, logger } = options;
  const { kind, concurrency } = duty;
  const lookEveryMs = options.lookEveryMs ?? (notifier.hears ? LOOK_EVERY_MS : LOOK_EVERY_UNHEARD_MS);
  const stopping = new AbortController();
  const givingUp = new AbortController();
  const turns = createTurns(concurrency);
  const running = new Map<string, Running>();
  let started = false;
  let failing = false;
  /** The last look found as many keys as it asked for, so there may be others. */
  let moreDue = false;
  let unsubscribe = (): void => undefined;

  /** The run of a key in this process: one at a time. */
  function run(key: string): Running {
    const current = running.get(key);
    if (current !== undefined) {
      current.again = true;
      return current;
    }
    const begun = Promise.withResolvers<void>();
    const ended = turns.run(async () => {
      begun.resolve();
      const end = await runToEnd(key, entry);
      // A process that stops no longer hears, so this goes to the others.
      if (end === 'more' || (end === 'stopped' && stopping.signal.aborted)) notifier.notify(kind, key);
      return end;
    });
    const entry: Running = { again: false, begun: begun.promise, ended };
    running.set(key, entry);
    return entry;
  }

  /** Runs until nothing of the key is due. What came while its lease was held met a lease that was taken. */
  async function runToEnd(key: string, entry: Running): Promise<RunEnd | 'busy'> {
    try {
      for (;;) {
        if (stopping.signal.aborted) return 'stopped';
        entry.again = false;
        const held = await presence.hold(`${kind}:${key}`, (lease, lost) =>
          duty.run({ key, lease, lost, stopping: stopping.signal, givingUp: givingUp.signal }),
        );
        if (!held.held) return 'busy';
        if (held.value !== 'idle') return held.value;
        const dueAt = await duty.readDueAt(key);
        const now = clock.now();
        if (dueAt !== null && dueAt > now) notifier.notify(kind, key, dueAt - now);
        if (!entry.again && (dueAt === null || dueAt > now)) return 'idle';
      }
    } finally {
      // In the moment of the decision: whoever notifies from now on begins a new run.
      running.delete(key);
    }
  }

  /** Resolves when the run has begun. */
  async function begin(key: string): Promise<void> {
    const entry = run(key);
    entry.ended.then(
      (end) => {
        if (moreDue && end !== 'stopped' && running.size <= concurrency / 2) {
          moreDue = false;
          looks.trigger();
        }
      },
      (err: unknown) => {
        if (!stopping.signal.aborted)
          logger.error({ err, kind, key }, 'work failed; the next look takes it up again');
      },
    );
    await entry.begun;
  }

  async function look(): Promise<void> {
    moreDue = false;
    const free = concurrency - running.size;
    if (free <= 0) return;
    const due = await duty.readDue(clock.now(), free);
    // Not by notifications: it may be those that do not work.
    for (const key of due) if (!running.has(key)) void begin(key);
    moreDue = due.length >= free;
    failing = false;
  }

  function noteFailure(err: unknown): void {
    if (!failing) logger.warn({ err, kind }, 'what is due could not be read; trying again');
    failing = true;
  }

  const looks = repeat({ clock, everyMs: lookEveryMs, run: look, onError: noteFailure });

  return {
    async start() {
      started = true;
      unsubscribe = notifier.subscribe(kind, begin);
      presence.onLeft(kind, (key) => void begin(key));
      presence.onReturn(looks.trigger);
      await looks.runNow().catch(noteFailure);
      looks.start();
    },
    notify: (key, delayMs) => notifier.notify(kind, key, delayMs),
    runNow: (key) => run(key).ended,
    runOf: (key) => running.get(key)?.ended.catch(() => undefined),
    async settle() {
      for (let moving = started; moving && !stopping.signal.aborted; ) {
        const due = await duty.readDue(clock.now(), concurrency);
        const runs = [...running.values(), ...due.filter((key) => !running.has(key)).map(run)];
        const ends = await Promise.allSettled(runs.map(({ ended }) => ended));
        moving = ends.some(
          (end) => end.status === 'fulfilled' && (end.value === 'idle' || end.value === 'more'),
        );
      }
    },
    async close() {
      unsubscribe();
      stopping.abort();
      const cancel = clock.after(GRACE_MS, () => givingUp.abort(new Error('the process stops')), {
        keepAlive: true,
      });
      await looks.stop();
      await Promise.allSettled([...running.values()].map(({ ended }) => ended));
      cancel();
    },
  };
}
