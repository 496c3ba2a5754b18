import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock/clock.ts';
import { createTurns } from './in-turn.ts';
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
}

/** The only job of a mark is never taken: it shows that the store is still the one this process knows. */
const MARK_JOB = 'mark';
/** A run that is this late, and whose job is gone, will not come by itself. */
const BROKEN_AFTER_MS = 60_000;

function nameOf(queue: string, key: string): string {
  return `${queue} ${key}`;
}

/** Postgres keeps the keys of an object in an order of its own. */
function sameData(a: JobData, b: JobData | undefined): boolean {
  const sorted = (data: JobData): string => JSON.stringify(Object.entries(data).sort());
  return sorted(a) === sorted(b ?? {});
}

/**
 * `open` gives the queue of a name and rejects while the store is away; `openMark` gives another one that is lost
 * whenever that queue is lost, and that no worker takes from. `onError` is told of a schedule that could
 * not be repaired; the next repair tries it again.
 */
export function createSchedules(options: {
  readonly open: (queue: string) => Promise<JobQueue>;
  readonly openMark: (queue: string) => Promise<JobQueue>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): Schedules {
  const { open, openMark, clock, onError } = options;
  // A repair must not judge a schedule by what it read before the same schedule was declared.
  const inTurn = createTurns();
  const declared = new Map<string, Schedule>();
  /** Names of those that have stood in the store. */
  const stored = new Set<string>();
  /** What the mark of each queue was when it was last seen. */
  const marks = new Map<string, string>();

  /** The id that whoever found the queue without a mark has left there. */
  async function readMark(queue: string): Promise<string> {
    const marked = await openMark(queue);
    const found = await marked.getJob(MARK_JOB);
    if (found !== undefined) return String(found.data[MARK_JOB]);
    await marked.add(MARK_JOB, { [MARK_JOB]: randomUUID() }, { jobId: MARK_JOB });
    // Of several processes that add it at once, one wins.
    return String((await marked.getJob(MARK_JOB))?.data[MARK_JOB]);
  }

  /** Takes note of the queue's mark. What stood in a queue that has been lost since then stands there no more. */
  async function checkMark(queue: string): Promise<void> {
    const found = await readMark(queue);
    if (marks.get(queue) === found) return;
    marks.set(queue, found);
    for (const [name, schedule] of declared) if (schedule.queue === queue) stored.delete(name);
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

  /** While the queue is the one this process knows, what other processes did to a schedule holds. */
  async function repairOne(name: string): Promise<void> {
    const schedule = declared.get(name);
    if (schedule === undefined) return;
    const queue = await open(schedule.queue);
    const found = await queue.getJobScheduler(schedule.key);
    if (found === undefined) {
      // Looked at after the schedule: a queue that had been lost by then has lost its mark, too.
      await checkMark(schedule.queue);
      if (stored.has(name)) forget(name);
      else await write(queue, name, schedule);
      return;
    }
    const data = found.template?.data ?? {};
    const current = { ...schedule, pattern: found.pattern ?? schedule.pattern, data };
    declared.set(name, current);
    stored.add(name);
    if (await isBroken(queue, schedule.key, found.next)) await write(queue, name, current);
  }

  async function declareOne(name: string, schedule: Schedule): Promise<void> {
    declared.set(name, schedule);
    await checkMark(schedule.queue);
    const queue = await open(schedule.queue);
    const found = await queue.getJobScheduler(schedule.key);
    const same = found?.pattern === schedule.pattern && sameData(schedule.data, found.template?.data);
    if (same && !(await isBroken(queue, schedule.key, found.next))) stored.add(name);
    else await write(queue, name, schedule);
  }

  return {
    declare(schedule) {
      const name = nameOf(schedule.queue, schedule.key);
      return inTurn(name, () => declareOne(name, schedule));
    },

    end(queue, key) {
      const name = nameOf(queue, key);
      return inTurn(name, async () => {
        forget(name);
        await (await open(queue)).removeJobScheduler(key);
      });
    },

    async repair() {
      const queues = new Set([...declared.values()].map(({ queue }) => queue));
      for (const queue of queues) await checkMark(queue).catch(onError);
      for (const name of [...declared.keys()]) await inTurn(name, () => repairOne(name)).catch(onError);
    },
  };
}
