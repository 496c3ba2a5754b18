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

/** `open` gives the queue of a name; rejects while the store is away. */
export function createSchedules(open: (queue: string) => Promise<JobQueue>, clock: Clock): Schedules {
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
  async function isAlive(queue: JobQueue, key: string, next: number | undefined): Promise<boolean> {
    if (next === undefined || next > clock.now() - BROKEN_AFTER_MS) return true;
    return (await queue.getJob(`repeat:${key}:${next}`)) !== undefined;
  }

  async function upsert(name: string, schedule: Schedule): Promise<void> {
    const queue = await open(schedule.queue);
    const found = await queue.getJobScheduler(schedule.key);
    const same = found?.pattern === schedule.pattern && sameData(schedule.data, found.template?.data);
    if (!same || !(await isAlive(queue, schedule.key, found.next))) {
      await queue.upsertJobScheduler(
        schedule.key,
        { pattern: schedule.pattern },
        { name: 'scheduled', data: schedule.data, opts: SCHEDULED_OPTIONS },
      );
    }
    stored.add(name);
  }

  /** In the same store a schedule that stood there and is gone was ended by another process. */
  async function wasEnded(name: string, schedule: Schedule): Promise<boolean> {
    if (!stored.has(name)) return false;
    const queue = await open(schedule.queue);
    return (await queue.getJobScheduler(schedule.key)) === undefined;
  }

  function forget(name: string): void {
    declared.delete(name);
    stored.delete(name);
  }

  return {
    async declare(schedule) {
      const name = `${schedule.queue} ${schedule.key}`;
      declared.set(name, schedule);
      epoch ??= await readEpoch();
      await upsert(name, schedule);
    },

    async end(queue, key) {
      forget(`${queue} ${key}`);
      await (await open(queue)).removeJobScheduler(key);
    },

    async repair() {
      const found = await readEpoch();
      for (const [name, schedule] of declared) {
        if (epoch === found && (await wasEnded(name, schedule))) forget(name);
        else await upsert(name, schedule);
      }
      epoch = found;
    },

    async ping() {
      await (await open(EPOCH_QUEUE)).getJob(EPOCH_JOB);
    },
  };
}
