import type { Clock } from './clock.ts';

export interface RepeatOptions {
  readonly clock: Clock;
  /** Performs one run. The signal aborts when the run should start no further steps. */
  readonly run: (stopping: AbortSignal) => Promise<void>;
  /**
   * Time from the end of a run to the start of the next, in milliseconds; null if none should follow. A function is
   * called by `start` and after each run.
   */
  readonly everyMs: number | (() => number | null);
  /** Called with the error of a run, unless a caller of `runNow` receives it. Must not throw. */
  readonly onError: (error: unknown) => void;
}

export interface Repeat {
  /** Schedules a run in `everyMs` from now, and one after each run. A further call restarts the wait. */
  start(): void;
  /** Runs now, or when the current run has ended. Rejects with the error of the run; does nothing once stopped. */
  runNow(): Promise<void>;
  /** The same, but passes the error to `onError`. */
  trigger(): void;
  /** Resolves when no run is in progress. */
  settle(): Promise<void>;
  /** Starts no further runs. Resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Repeats a task, one run at a time. A run starts some time after the previous one has ended, successfully or not. */
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
