import { WaitingError } from 'bullmq';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import type { JobProcessor, JobWorker, QueueStore } from './queue-store.ts';
import type { JobHandler } from './queues.ts';

/** A worker of this process that survives outages of its store. */
export interface RunningWorker {
  /**
   * Takes no more jobs, lets running ones end for `graceMs`, then aborts their signal and waits `hardMs` more.
   * What still runs then is left to the store, which gives it to another worker.
   */
  close(graceMs: number, hardMs: number): Promise<void>;
}

interface WorkerOptions {
  readonly store: QueueStore;
  readonly name: string;
  readonly handler: JobHandler;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onError: (error: unknown) => void;
}

const LONGEST_RETRY_MS = 5_000;

/** Resolves when all of `work` is over or `ms` have passed; tells which. */
async function settleWithin(clock: Clock, ms: number, work: Iterable<Promise<unknown>>): Promise<boolean> {
  let cancel = (): void => undefined;
  const late = new Promise<false>((resolve) => {
    cancel = clock.after(ms, () => resolve(false), { keepAlive: true });
  });
  const over = Promise.allSettled(work).then(() => true as const);
  const settled = await Promise.race([over, late]);
  cancel();
  return settled;
}

/** Starts a worker. Should its store be away, it is tried again until it is there. */
export function runWorker(options: WorkerOptions): RunningWorker {
  const { store, name, clock, logger, onError } = options;
  const stopping = new AbortController();
  const aborting = new AbortController();
  const active = new Set<Promise<void>>();

  // Three declared parameters: BullMQ looks at their number to hand over its signal.
  const process: JobProcessor = async (job, token, signal) => {
    if (stopping.signal.aborted) {
      // Taken in the moment in which the worker was told to stop: another one shall have it.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const signals = signal === undefined ? [aborting.signal] : [aborting.signal, signal];
    const running = options.handler(job.data, AbortSignal.any(signals));
    active.add(running);
    try {
      await running;
    } catch (err) {
      logger.warn({ queue: name, jobId: job.id, attempt: job.attemptsMade + 1, err }, 'a job failed');
      throw err;
    } finally {
      active.delete(running);
    }
  };

  async function start(): Promise<JobWorker | undefined> {
    for (let delayMs = 100; !stopping.signal.aborted; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      // BullMQ remembers for ever that a store was away at its first attempt, so each attempt is a new worker.
      const worker = store.openWorker(name, process, options.concurrency, onError);
      try {
        await worker.waitUntilReady();
        return worker;
      } catch (err) {
        onError(err);
        await worker.close(true).catch(onError);
        await clock.sleep(delayMs, stopping.signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  const started = start();
  return {
    async close(graceMs, hardMs) {
      stopping.abort();
      const worker = (await settleWithin(clock, hardMs, [started])) ? await started : undefined;
      if (worker === undefined) return;
      await worker.pause(true).catch(onError);
      let settled = await settleWithin(clock, graceMs, active);
      if (!settled) {
        aborting.abort(new Error('the process stops'));
        settled = await settleWithin(clock, hardMs, active);
        if (!settled) logger.warn({ queue: name, count: active.size }, 'left jobs behind that did not stop');
      }
      const closed = worker.close(!settled).catch(onError);
      await settleWithin(clock, hardMs, [closed]);
    },
  };
}
