/**
 * Time as a port. All code of the project reads time and waits through a `Clock`, so that a test can stop
 * time and move it by hand. A test fails on any direct clock read outside this folder.
 */
export interface Clock {
  /** Wall-clock time in epoch milliseconds. May jump; use it for timestamps, never for durations. */
  now(): number;

  /** Monotonic milliseconds from an arbitrary start. Only differences mean something. */
  elapsed(): number;

  /**
   * Runs `run` once, `ms` milliseconds from now, and returns a function that cancels it. The timer does not
   * keep the process alive unless `keepAlive` is true.
   */
  after(ms: number, run: () => void, options?: { readonly keepAlive?: boolean }): () => void;

  /**
   * Resolves after `ms` milliseconds; rejects with the signal's reason once `signal` aborts. It is awaited,
   * so it keeps the process alive. The timer is removed after an abort.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
