import type { Queues } from '../../runtime/queue/queues.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { LaneContext } from './lane-context.ts';
import { endWaits, readDueLanes, SEND } from './lane-store.ts';
import { type LaneEnd, runLane } from './run-lane.ts';

const QUEUE = 'outbox';
/** Lanes that a process runs at a time: mostly they wait for the service. */
const CONCURRENCY = 100;
/** Files that a process holds in memory at a time, 40 MB each at worst. */
const FILES = 4;
const SWEEP_EVERY_MS = 5_000;
/** Calls under way may end for so long when the process stops; then they are given up, and repeated later. */
const GRACE_MS = 8_000;

export interface OutboxOptions
  extends Omit<LaneContext, 'fileSlots' | 'calls' | 'unanswered' | 'onAnswering'> {
  readonly queues: Queues;
  /** False: this process only queues sends. */
  readonly sends: boolean;
  readonly sweepEveryMs?: number;
}

export interface Outbox {
  /** Begins to send. Throws as `query` does. */
  start(): Promise<void>;
  /** A lane has something to do. Never rejects: what the queue does not take is found by a sweep. */
  wake(connectionId: string): Promise<void>;
  /**
   * The service answers this account again: what waits only for that is sent now, in whichever process. Never rejects:
   * each send comes to its turn by itself in the end.
   */
  serviceAnswers(accountId: string): Promise<void>;
  /** Runs every lane that has something due, and resolves when none of this process is under way. */
  settle(): Promise<void>;
  /** Begins no attempt; gives those under way a few seconds. What is unfinished then is safe to take up again. */
  close(): Promise<void>;
}

/** After these, something else may be due by now. */
const MOVING: ReadonlySet<LaneEnd['kind']> = new Set(['empty', 'waiting', 'more']);

/**
 * Sends what the CRM has queued. Everything that is to be done stands in the database; jobs only say which lane
 * to look at, and a sweep finds the lanes whose job was lost.
 */
export function createOutbox(options: OutboxOptions): Outbox {
  const { database, queues, clock, logger, presence, sends } = options;
  const closing = new AbortController();
  const givingUp = new AbortController();
  const context: LaneContext = {
    ...options,
    fileSlots: createTurns(FILES),
    calls: givingUp.signal,
    unanswered: new Set(),
    onAnswering: (accountId) => void serviceAnswers(accountId),
  };
  const running = new Map<string, Promise<LaneEnd>>();
  let started = false;
  let cancelSweep = (): void => undefined;
  let sweeping: Promise<void> = Promise.resolve();

  /** The run of a lane in this process: one at a time. */
  function run(connectionId: string): Promise<LaneEnd> {
    if (closing.signal.aborted) return Promise.resolve({ kind: 'stopped' });
    const current = running.get(connectionId);
    if (current !== undefined) return current;
    const lane = runLane(context, connectionId, closing.signal).finally(() => {
      running.delete(connectionId);
    });
    running.set(connectionId, lane);
    return lane;
  }

  async function runJob(connectionId: string): Promise<void> {
    const joined = running.get(connectionId);
    // The run that is under way may have looked before this job was made.
    if (joined !== undefined) await joined.catch(() => undefined);
    try {
      const end = await run(connectionId);
      if (end.kind === 'more') await wake(connectionId, 0);
      if (end.kind === 'waiting') await wake(connectionId, end.until - clock.now());
    } catch (err) {
      logger.error({ err, connectionId }, 'a lane could not be run; a sweep will find it');
    }
  }

  /** Not by way of the queue: there the job of the process that died stands for the lane until it is given up. */
  function takeUp(connectionId: string): void {
    if (running.size < CONCURRENCY) void runJob(connectionId);
  }

  async function wake(connectionId: string, delayMs: number): Promise<void> {
    if (closing.signal.aborted) return;
    try {
      await queues.wake(QUEUE, { connectionId }, { jobId: connectionId, delayMs: Math.max(0, delayMs) });
    } catch (err) {
      logger.warn({ err, connectionId }, 'a lane could not be woken; a sweep will find it');
    }
  }

  async function serviceAnswers(accountId: string): Promise<void> {
    try {
      const lanes = await endWaits(database, accountId, clock.now());
      await Promise.all(lanes.map((connectionId) => wake(connectionId, 0)));
    } catch (err) {
      logger.warn(
        { err, accountId },
        'sends that wait for the service could not be woken; they wait to the end',
      );
    }
  }

  async function readDue(): Promise<readonly string[]> {
    const lanes = await readDueLanes(database, clock.now());
    return lanes.filter((connectionId) => !running.has(connectionId));
  }

  async function sweep(): Promise<void> {
    try {
      const due = await readDue();
      // Not by way of the queue: it may be the queue that is away.
      for (const connectionId of due.slice(0, Math.max(0, CONCURRENCY - running.size))) {
        void runJob(connectionId);
      }
    } catch (err) {
      logger.warn({ err }, 'lanes could not be swept; trying again');
    }
  }

  function sweepLater(): void {
    if (closing.signal.aborted) return;
    cancelSweep = clock.after(options.sweepEveryMs ?? SWEEP_EVERY_MS, () => {
      sweeping = sweep().finally(sweepLater);
    });
  }

  return {
    async start() {
      if (!sends) return;
      started = true;
      presence.onLeft(SEND, takeUp);
      presence.onReturn(() => void sweep());
      queues.work(
        QUEUE,
        async (data) => {
          if (typeof data['connectionId'] === 'string') await runJob(data['connectionId']);
        },
        { concurrency: CONCURRENCY },
      );
      await sweep();
      sweepLater();
    },
    wake: (connectionId) => wake(connectionId, 0),
    serviceAnswers,
    async settle() {
      for (let moving = started; moving && !closing.signal.aborted; ) {
        const due = await readDue();
        const ends = await Promise.allSettled([...running.values(), ...due.map(run)]);
        moving = ends.some((end) => end.status === 'fulfilled' && MOVING.has(end.value.kind));
      }
    },
    async close() {
      closing.abort();
      cancelSweep();
      const cancel = clock.after(GRACE_MS, () => givingUp.abort(), { keepAlive: true });
      await sweeping;
      await Promise.allSettled(running.values());
      cancel();
    },
  };
}
