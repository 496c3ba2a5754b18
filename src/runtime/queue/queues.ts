/** What a job may carry: ids and small numbers. Never a text of a message, never a secret. */
export type JobData = Readonly<Record<string, string | number | boolean>>;

/** Does one job. `signal` aborts when the process has to stop before the job ended. */
export type JobHandler = (data: Record<string, unknown>, signal: AbortSignal) => Promise<void>;

/**
 * Queues of wake-up calls, shared by all processes. The truth about what is to be done stands in the database:
 * a job only says where to look, may be lost with its store, and may run twice when its worker stalls.
 */
export interface Queues {
  readonly backend: 'postgres' | 'redis';

  /**
   * Adds a job. Rejects with `QueueUnavailable` when the store does not take it in time; it may then still run.
   * Of jobs with the same `jobId` one waits at most: further ones join it (while it is delayed, the last call's
   * delay holds). A call that comes while that job runs makes it run once more afterwards.
   */
  wake(
    queue: string,
    data: JobData,
    options?: { readonly jobId?: string; readonly delayMs?: number },
  ): Promise<void>;

  /**
   * Runs `queue`'s handler with `data` every `everyMs`, each time earlier or later by up to the fraction
   * `jitter`, once over all processes. Declaring it again changes nothing, or moves it to the new values.
   * Remembered until `unschedule` or `close`: should the store be wiped, it is declared anew.
   */
  schedule(
    queue: string,
    key: string,
    data: JobData,
    options: { readonly everyMs: number; readonly jitter: number },
  ): Promise<void>;

  /** Ends a schedule for all processes. Unknown ones are ended already. */
  unschedule(queue: string, key: string): Promise<void>;

  /** Starts a worker of this process. A handler that throws is called again a few times, with back-off. */
  work(queue: string, handler: JobHandler, options?: { readonly concurrency?: number }): void;

  /** Resolves when the store answers. Rejects with `QueueUnavailable` after a few seconds. */
  ping(): Promise<void>;

  /** Takes no more jobs, lets running ones end for a grace time, then aborts their signal. Bounded in time. */
  close(): Promise<void>;
}

/** The store of the queues cannot be reached, or did not answer in time. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
  readonly code = 'queue_unavailable';
}

/** Makes what a call rejects with that was not answered in time. `what` names the call in the message. */
export function noAnswer(what: string, ms: number): () => QueueUnavailable {
  return () => new QueueUnavailable(`${what}: no answer in ${ms} ms`);
}
