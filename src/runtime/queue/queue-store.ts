import type { AdvancedRepeatOptions, DefaultJobOptions, Job, JobSchedulerJson, JobsOptions } from 'bullmq';
import { nextRun } from './jittered-repeat.ts';
import type { JobData } from './queues.ts';

/** The part of a BullMQ queue that is used here, whatever stands behind it. */
export interface JobQueue {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: JobData, options: JobsOptions): Promise<unknown>;
  getJob(id: string): Promise<{ readonly data: JobData } | undefined>;
  upsertJobScheduler(
    key: string,
    repeat: { readonly pattern: string },
    template: { readonly name: string; readonly data: JobData; readonly opts: DefaultJobOptions },
  ): Promise<unknown>;
  getJobScheduler(key: string): Promise<JobSchedulerJson<JobData> | undefined>;
  removeJobScheduler(key: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The part of a BullMQ worker that is used here. */
export interface JobWorker {
  waitUntilReady(): Promise<unknown>;
  pause(doNotWaitActive: boolean): Promise<void>;
  close(force: boolean): Promise<void>;
}

/** Does one job. BullMQ hands over a signal only to functions that declare three parameters. */
export type JobProcessor = (
  job: Job<JobData>,
  token: string | undefined,
  signal?: AbortSignal,
) => Promise<void>;

/** Where jobs are kept. */
export interface QueueStore {
  readonly backend: 'postgres' | 'redis';
  /** False when a call would only wait for a connection that is known to be lost. */
  isReachable(): boolean;
  /** Queues of the same `group` (default: the name) are kept together, and so lost together. */
  openQueue(name: string, onError: (error: unknown) => void, group?: string): JobQueue;
  openWorker(
    name: string,
    processor: JobProcessor,
    concurrency: number,
    onError: (error: unknown) => void,
  ): JobWorker;
  close(): Promise<void>;
}

/** Nothing is kept of a job that is over: the truth is elsewhere, and what is kept must be bounded. */
const FORGET = { removeOnComplete: true, removeOnFail: true } as const;

/** A wake-up call whose handler throws is made again after about 1, 2, 4 and 8 seconds. */
export const WAKE_OPTIONS = {
  ...FORGET,
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
} as const satisfies DefaultJobOptions;

/** A scheduled job comes again by itself. */
export const SCHEDULED_OPTIONS = { ...FORGET, attempts: 1 } as const satisfies DefaultJobOptions;

/** Both sides of a queue compute the next run of a schedule, so both need this. */
export const REPEAT_SETTINGS: AdvancedRepeatOptions = { repeatStrategy: nextRun };

/** What all queues have in common. */
export const QUEUE_OPTIONS = {
  settings: REPEAT_SETTINGS,
  streams: { events: { maxLen: 100 } },
} as const;

/**
 * What all workers have in common. A job whose worker fell silent is given to another one within some ten seconds. Until
 * then it stands in the way of jobs with the same id, so whoever must not wait does not go by way of the queue.
 */
export const WORKER_OPTIONS = {
  settings: REPEAT_SETTINGS,
  lockDuration: 5_000,
  stalledInterval: 2_500,
  maxStalledCount: 3,
  runRetryDelay: 1_000,
  drainDelay: 5,
} as const;
