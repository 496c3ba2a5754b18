/** Time as the suites need it. They never read a clock themselves: the caller passes one in. */
export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start. */
  elapsed(): number;
  /** Runs `run` once after `ms` milliseconds; returns what cancels it. */
  after(ms: number, run: () => void, options?: { readonly keepAlive?: boolean }): () => void;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason once it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
