import type { Queues } from '../../runtime/queue/queues.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Feed } from '../feed/feed.ts';
import { changeKey } from './change-key.ts';
import { checkHandlers } from './check-handlers.ts';
import { beginHandover } from './distribute.ts';
import { createDistributor } from './distributor.ts';
import type { ChangeHandlers } from './handlers.ts';
import type { LaneContext } from './lane-context.ts';
import { HANDOVER, readDueLanes } from './lane-store.ts';
import { createLaneWaker, HANDOVER_QUEUE } from './lane-waker.ts';
import { type LaneEnd, runLane } from './run-lane.ts';

/** Connections that a process hands over side by side: mostly they wait for the database of the CRM. */
const CONCURRENCY = 10;
const SWEEP_EVERY_MS = 5_000;
/** They stand in line with what the queue wakes, so not too many at a time. */
const MOST_SWEPT = 200;
/** Calls under way may end for so long when the process stops; then their signals abort, and they come again. */
const GRACE_MS = 8_000;

export interface HandoverOptions extends Omit<LaneContext, 'handlers' | 'keyOf' | 'closing' | 'givingUp'> {
  readonly queues: Queues;
  readonly feed: Pick<Feed, 'watch'>;
  /** Undefined: this process calls nobody. */
  readonly handlers: ChangeHandlers | undefined;
  readonly sweepEveryMs?: number;
}

export interface Handover {
  /** Begins to hand over, if there is a handler. Throws as `query` does. */
  start(): Promise<void>;
  /** A connection has something to do. What the queue does not take is found by a sweep. */
  wake(connectionId: string): void;
  /** Hands over every numbered change that is due, and resolves when no call of this process is under way. */
  settle(): Promise<void>;
  /** Begins no call; gives those under way a few seconds, then aborts them. What was not taken comes again. */
  close(): Promise<void>;
}

/** After these, something else may be due by now. */
const MOVING: ReadonlySet<LaneEnd['kind']> = new Set(['empty', 'waiting', 'more']);

/**
 * Calls the CRM's handler with each change. Everything that is to be done stands in the database: a cursor gives
 * the changes of the feed to the queues of their connections, and each connection's lane takes them from there.
 * Jobs only say which lane to look at, and a sweep finds the lanes whose job was lost. Throws a TypeError for
 * handlers that are none.
 */
export function createHandover(options: HandoverOptions): Handover {
  const { database, queues, clock, logger, presence, feed, handlers } = options;
  const checked = handlers === undefined ? undefined : checkHandlers(handlers);
  if (checked !== undefined && 'problem' in checked)
    throw new TypeError(`the given object ${checked.problem}`);
  const closing = new AbortController();
  const givingUp = new AbortController();
  const turns = createTurns(CONCURRENCY);
  const waker = createLaneWaker({ queues, logger });
  const distributor = createDistributor({ database, clock, logger, onFilled: waker.wake });
  const running = new Map<string, Promise<LaneEnd>>();
  let context: LaneContext | undefined;
  let unwatch = (): void => undefined;
  let cancelSweep = (): void => undefined;
  let sweeping: Promise<void> = Promise.resolve();

  /** The run of a lane in this process: one at a time. */
  function run(connectionId: string): Promise<LaneEnd> {
    const current = running.get(connectionId);
    if (current !== undefined) return current;
    const lane = turns
      .run(async (): Promise<LaneEnd> => {
        if (context === undefined || closing.signal.aborted) return { kind: 'stopped' };
        return await runLane(context, connectionId);
      })
      .finally(() => running.delete(connectionId));
    running.set(connectionId, lane);
    return lane;
  }

  async function runJob(connectionId: string): Promise<void> {
    // The run that is under way may have looked before this job was made.
    await running.get(connectionId)?.catch(() => undefined);
    try {
      const end = await run(connectionId);
      if (end.kind === 'more') waker.wake(connectionId);
      if (end.kind === 'waiting') waker.wake(connectionId, Math.max(0, end.until - clock.now()));
    } catch (err) {
      logger.error({ err, connectionId }, 'a hand-over could not be carried out; a sweep will find it');
    }
  }

  async function sweep(): Promise<void> {
    if (running.size >= CONCURRENCY) return;
    try {
      // Not by way of the queue: it may be the queue that is away, or that has forgotten them.
      for (const connectionId of await readDueLanes(database, clock.now(), MOST_SWEPT)) {
        if (!running.has(connectionId)) void runJob(connectionId);
      }
    } catch (err) {
      logger.warn({ err }, 'connections could not be swept for changes to hand over; trying again');
    }
  }

  function sweepLater(): void {
    if (closing.signal.aborted) return;
    cancelSweep = clock.after(options.sweepEveryMs ?? SWEEP_EVERY_MS, () => {
      sweeping = sweep().finally(sweepLater);
    });
  }

  async function begin(handlers: ChangeHandlers): Promise<void> {
    const { feedId, isFirst, cursor, waiting } = await beginHandover(database);
    const told = { seq: cursor, waiting };
    if (isFirst)
      logger.info(told, 'hand-over begins with the next change; those up to this one are in the feed alone');
    else logger.info(told, 'hand-over goes on');
    context = {
      ...options,
      handlers,
      keyOf: (seq) => changeKey(feedId, seq),
      closing: closing.signal,
      givingUp: givingUp.signal,
    };
  }

  return {
    async start() {
      if (handlers === undefined) return;
      await begin(handlers);
      queues.work(
        HANDOVER_QUEUE,
        async (data) => {
          if (typeof data['connectionId'] === 'string') await runJob(data['connectionId']);
        },
        { concurrency: CONCURRENCY },
      );
      presence.onLeft(HANDOVER, (connectionId) => void runJob(connectionId));
      presence.onReturn(() => void sweep());
      unwatch = feed.watch(distributor.nudge);
      await sweep();
      sweepLater();
    },
    wake: (connectionId) => waker.wake(connectionId),
    async settle() {
      for (let moving = context !== undefined; moving && !closing.signal.aborted; ) {
        await distributor.settle();
        const due = await readDueLanes(database, clock.now(), MOST_SWEPT);
        const ends = await Promise.allSettled([...running.values(), ...due.map(run)]);
        moving = ends.some((end) => end.status === 'fulfilled' && MOVING.has(end.value.kind));
      }
    },
    async close() {
      closing.abort();
      unwatch();
      cancelSweep();
      const cancel = clock.after(GRACE_MS, () => givingUp.abort(new Error('the process stops')), {
        keepAlive: true,
      });
      await Promise.all([sweeping, distributor.close()]);
      await Promise.allSettled(running.values());
      cancel();
      await waker.settle();
    },
  };
}
