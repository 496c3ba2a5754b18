import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock/clock.ts';
import { type JobQueue, SCHEDULED_OPTIONS } from './queue-store.ts';
import type { JobData } from './queues.ts';

/** A schedule as it stands in the store. */
export interface Schedule {
  readonly queue: string;
  readonly key: string;
  readonly data: JobData;
  readonly pattern: string;
}

/** Declares schedules in the store of the queues, and finds out when the store has forgotten them. */
export interface Schedules {
  declare(schedule: Schedule): Promise<void>;
  end(queue: string, key: string): Promise<void>;
  /** Declares anew what a wiped store or a broken chain of runs has lost. */
  repair(): Promise<void>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
}

/** Its only job is never taken: it shows that the store is the one this process knows. */
const EPOCH_QUEUE = 'epoch';
const EPOCH_JOB = 'epoch';
const EPOCH_ID = 'epoch';
/** A run that is this late, and whose job is gone, will not come by itself. */
const BROKEN_AFTER_MS = 60_000;

/** Postgres keeps the keys of an object in an order of its own. */
function sameData(a: JobData, b: JobData | undefined): boolean {
  const sorted = (data: JobData): string => JSON.stringify(Object.entries(data).sort());
  return sorted(a) === sorted(b ?? {});
}

/**
 * `open` gives the queue of a name and rejects while the store is away. `onError` is told of a schedule that could
 * not be repaired; the next repair tries it again.
 */
export function createSchedules(options: {
  readonly open: (queue: string) => Promise<JobQueue>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): Schedules {
  const { open, clock, onError } = options;
  const declared = new Map<string, Schedule>();
  /** Names of those that have stood in the store. */
  const stored = new Set<string>();
  let epoch: string | undefined;

  /** The id that whoever found the store empty has left there. */
  async function readEpoch(): Promise<string> {
    const queue = await open(EPOCH_QUEUE);
    const found = await queue.getJob(EPOCH_JOB);
    if (found !== undefined) return String(found.data[EPOCH_ID]);
    await queue.add(EPOCH_JOB, { [EPOCH_ID]: randomUUID() }, { jobId: EPOCH_JOB });
    // Of several processes that add it at once, one wins.
    return String((await queue.getJob(EPOCH_JOB))?.data[EPOCH_ID]);
  }

  /** Each run makes the job of the next one when it starts; a lost job ends that chain. */
  async function isBroken(queue: JobQueue, key: string, next: number | undefined): Promise<boolean> {
    if (next === undefined || next > clock.now() - BROKEN_AFTER_MS) return false;
    return (await queue.getJob(`repeat:${key}:${next}`)) === undefined;
  }

  async function write(queue: JobQueue, name: string, schedule: Schedule): Promise<void> {
    const { key, pattern, data } = schedule;
    await queue.upsertJobScheduler(key, { pattern }, { name: 'scheduled', data, opts: SCHEDULED_OPTIONS });
    stored.add(name);
  }

  function forget(name: string): void {
    declared.delete(name);
    stored.delete(name);
  }

  /** In the store this process knows, what other processes did to a schedule holds. */
  async function repairOne(name: string, schedule: Schedule): Promise<void> {
    const queue = await open(schedule.queue);
    const found = await queue.getJobScheduler(schedule.key);
    if (found === undefined) {
      if (stored.has(name)) forget(name);
      else await write(queue, name, schedule);
      return;
    }
    const current = {
      ...schedule,
      pattern: found.pattern ?? schedule.pattern,
      data: found.template?.data ?? {},
    };
    declared.set(name, current);
    if (await isBroken(queue, schedule.key, found.next)) await write(queue, name, current);
    else stored.add(name);
  }

  return {
    async declare(schedule) {
      const name = `${schedule.queue} ${schedule.key}`;
      declared.set(name, schedule);
      epoch ??= await readEpoch();
      const queue = await open(schedule.queue);
      const found = await queue.getJobScheduler(schedule.key);
      const same = found?.pattern === schedule.pattern && sameData(schedule.data, found.template?.data);
      if (same && !(await isBroken(queue, schedule.key, found.next))) stored.add(name);
      else await write(queue, name, schedule);
    },

    async end(queue, key) {
      forget(`${queue} ${key}`);
      await (await open(queue)).removeJobScheduler(key);
    },

    async repair() {
      const found = await readEpoch();
      // The marks of a store that is gone mean nothing.
      if (epoch !== found) stored.clear();
      epoch = found;
      for (const [name, schedule] of [...declared]) await repairOne(name, schedule).catch(onError);
    },

    async ping() {
      await (await open(EPOCH_QUEUE)).getJob(EPOCH_JOB);
    },
  };
}
