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

export type Repeat = ReturnType<typeof repeat>;

/** Repeats a task, one run at a time. A run starts some time after the previous one has ended, successfully or not. */
export function repeat({ clock, run, everyMs, onError }: RepeatOptions) {
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

  /** Runs now, or when the current run has ended. Rejects with the error of the run; does nothing once stopped. */
  function runNow(): Promise<void> {
    const turn = last.then(runOnce);
    last = turn.catch(() => undefined);
    return turn;
  }

  /** The same, but passes the error to `onError`. */
  function trigger(): void {
    runNow().catch(onError);
  }

  /** Resolves when no run is in progress. */
  async function settle(): Promise<void> {
    for (let seen: Promise<void> | undefined; seen !== last; ) {
      seen = last;
      await seen;
    }
  }

  return {
    /** Schedules a run in `everyMs` from now, and one after each run. A further call restarts the wait. */
    start(): void {
      started = true;
      schedule();
    },
    runNow,
    trigger,
    settle,
    /** Starts no further runs. Resolves when the current one has ended. */
    async stop(): Promise<void> {
      stopping.abort();
      cancel();
      await settle();
    },
  };
}
