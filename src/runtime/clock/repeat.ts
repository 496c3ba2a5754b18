import type { Clock } from './clock.ts';

export interface RepeatOptions {
  readonly clock: Clock;
  /** One run. Its signal aborts when no further step is to begin. */
  readonly run: (stopping: AbortSignal) => Promise<void>;
  /**
   * From the end of a run to the beginning of the next, in milliseconds; null: none follows. A function is asked after
   * each run, and by `start`.
   */
  readonly everyMs: number | (() => number | null);
  /** Called with what a run threw, unless somebody waited for that run. Must not throw. */
  readonly onError: (error: unknown) => void;
}

export interface Repeat {
  /** Runs in `everyMs` from now, and again after each run. Called again, it begins that wait anew. */
  start(): void;
  /** Runs as soon as the run under way has ended, or now. Rejects with what the run throws; does nothing once stopped. */
  runNow(): Promise<void>;
  /** The same, with its error going to `onError`. */
  trigger(): void;
  /** Resolves when no run is under way. */
  settle(): Promise<void>;
  /** Begins no further run. Resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/** Does something again and again: one run at a time, each a while after the last has ended, however that ended. */
export function repeat({ clock, run, everyMs, onError }: RepeatOptions): Repeat {
  const stopping = new AbortController();
  let last: Promise<void> = Promise.resolve();
  let started = false;
  let cancel = (): void => undefined;

  async function runOnce(): Promise<void> {
    if (stopping.signal.aborted) return;
    cancel();
    try {
      await run(stopping.signal);
    } finally {
      if (started) schedule();
    }
  }

  function schedule(): void {
    cancel();
    const ms = typeof everyMs === 'number' ? everyMs : everyMs();
    if (ms !== null && !stopping.signal.aborted) cancel = clock.after(ms, trigger);
  }

  function runNow(): Promise<void> {
    const turn = last.then(runOnce);
    last = turn.catch(() => undefined);
    return turn;
  }

  function trigger(): void {
    runNow().catch(onError);
  }

  async function settle(): Promise<void> {
    for (let seen: Promise<void> | undefined; seen !== last; ) {
      seen = last;
      await seen;
    }
  }

  return {
    start() {
      started = true;
      schedule();
    },
    runNow,
    trigger,
    settle,
    async stop() {
      stopping.abort();
      cancel();
      await settle();
    },
  };
}
