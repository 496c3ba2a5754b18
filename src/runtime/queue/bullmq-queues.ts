import type { JobsOptions } from 'bullmq';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import type { Logger } from '../logger/logger.ts';
import { writeSchedule } from './jittered-repeat.ts';
import { checkJobData, escapeColons, storedName } from './job-names.ts';
import { type JobQueue, type QueueStore, WAKE_OPTIONS } from './queue-store.ts';
import { type JobData, noAnswer, type Queues, QueueUnavailable } from './queues.ts';
import { type RunningWorker, runWorker } from './running-worker.ts';
import { createSchedules } from './schedules.ts';

interface BullmqOptions {
  readonly store: QueueStore;
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onError: (error: unknown) => void;
  /** How long a call may take. */
  readonly deadlineMs: number;
  /** How often the store is asked whether it still knows the schedules. */
  readonly repairMs: number;
  /** How long running jobs may go on at the end before their signal aborts. */
  readonly graceMs: number;
}

/** After the signal, and for every connection to be closed. */
const HARD_STOP_MS = 2_000;

function describeDelay(
  options: { readonly jobId?: string; readonly delayMs?: number } | undefined,
): JobsOptions {
  const delay = options?.delayMs === undefined ? {} : { delay: Math.max(0, Math.round(options.delayMs)) };
  if (options?.jobId === undefined) return delay;
  const deduplication = { id: escapeColons(options.jobId), keepLastIfActive: true, reschedule: true };
  return { ...delay, deduplication };
}

interface QueueCache {
  open(queue: string): Promise<JobQueue>;
  /** A second queue, kept together with that one. */
  openMark(queue: string): Promise<JobQueue>;
  close(): Promise<void>;
}

/** BullMQ's queues by name, opened when they are first needed and opened anew when that failed. */
function createQueueCache({ store, prefix, onError }: BullmqOptions): QueueCache {
  const queues = new Map<string, JobQueue>();

  async function open(name: string, group: string): Promise<JobQueue> {
    if (!store.isReachable()) throw new QueueUnavailable('the store of the queues is not connected');
    const known = queues.get(name) ?? store.openQueue(name, onError, group);
    queues.set(name, known);
    try {
      await known.waitUntilReady();
      return known;
    } catch (error) {
      // BullMQ remembers a failed first connection for ever.
      if (queues.get(name) === known) queues.delete(name);
      await known.close().catch(onError);
      throw error;
    }
  }

  return {
    open(queue) {
      const name = storedName(prefix, queue);
      return open(name, name);
    },
    openMark(queue) {
      const name = storedName(prefix, queue);
      return open(`${name}-mark`, name);
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(onError)));
    },
  };
}

/** The queues over one store, whichever it is. */
export function createBullmqQueues(options: BullmqOptions): Queues {
  const { store, clock, logger, onError } = options;
  const cache = createQueueCache(options);
  const schedules = createSchedules({ open: cache.open, openMark: cache.openMark, clock, onError });
  const workers: RunningWorker[] = [];
  let closing: Promise<void> | undefined;
  let cancelRepair = (): void => undefined;

  /** Mistakes of the caller are told as such, before the store is asked. */
  function check(queue: string, data: JobData): void {
    storedName(options.prefix, queue);
    checkJobData(data);
  }

  async function call<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new QueueUnavailable(`${what}: the queues are closed`);
    try {
      return await within(clock, options.deadlineMs, work(), noAnswer(what, options.deadlineMs));
    } catch (error) {
      if (error instanceof QueueUnavailable) throw error;
      throw new QueueUnavailable(`${what}: the store of the queues failed`, { cause: error });
    }
  }

  function repairLater(): void {
    cancelRepair = clock.after(options.repairMs, () => {
      // Without a deadline: there may be thousands, and each call to the store has one of its own.
      void schedules
        .repair()
        .catch(onError)
        .then(() => {
          if (closing === undefined) repairLater();
        });
    });
  }

  async function closeAll(): Promise<void> {
    cancelRepair();
    await Promise.all(workers.map((worker) => worker.close(options.graceMs, HARD_STOP_MS)));
    for (const part of [cache, store]) {
      const late = noAnswer('closing the queues', HARD_STOP_MS);
      await within(clock, HARD_STOP_MS, part.close(), late).catch(onError);
    }
  }

  repairLater();
  return {
    backend: store.backend,
    async wake(queue, data, wakeOptions) {
      check(queue, data);
      await call(`waking ${queue}`, async () => {
        const opened = await cache.open(queue);
        await opened.add('wake', data, { ...WAKE_OPTIONS, ...describeDelay(wakeOptions) });
      });
    },
    async schedule(queue, key, data, { everyMs, jitter }) {
      check(queue, data);
      const pattern = writeSchedule(everyMs, jitter);
      const declared = { queue, key: escapeColons(key), data, pattern };
      await call(`scheduling ${queue}`, () => schedules.declare(declared));
    },
    async unschedule(queue, key) {
      check(queue, {});
      await call(`ending a schedule of ${queue}`, () => schedules.end(queue, escapeColons(key)));
    },
    work(queue, handler, workOptions) {
      if (closing !== undefined) throw new QueueUnavailable('working: the queues are closed');
      const name = storedName(options.prefix, queue);
      const concurrency = workOptions?.concurrency ?? 1;
      workers.push(runWorker({ store, name, handler, concurrency, clock, logger, onError }));
    },
    ping: () =>
      call('asking the queues', async () => {
        // Whatever the answer is, it came from the store.
        await (await cache.open('ping')).getJob('ping');
      }),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}
