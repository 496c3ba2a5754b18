import type { Notifier } from '../../runtime/notifier/notifier.ts';
import type { Feed } from '../feed/feed.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Worker } from '../work/worker.ts';
import { changeKey } from './change-key.ts';
import { checkHandlers } from './check-handlers.ts';
import { beginHandover } from './distribute.ts';
import { createDistributor } from './distributor.ts';
import type { ChangeHandlers } from './handlers.ts';
import type { LaneContext } from './lane-context.ts';
import { HANDOVER, readDueAt, readDueLanes } from './lane-store.ts';
import { runLane } from './run-lane.ts';

/** Connections that a process hands over side by side: mostly they wait for the database of the CRM. */
const CONCURRENCY = 10;

export interface HandoverOptions extends Omit<LaneContext, 'handlers' | 'keyOf'> {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly feed: Pick<Feed, 'watch'>;
  /** Undefined: this process calls nobody. */
  readonly handlers: ChangeHandlers | undefined;
  readonly lookEveryMs?: number;
}

/**
 * Calls the CRM's handler with each change: its keys are connections, since the changes of one come in order. A cursor
 * gives the changes of the feed to the notifier of their connections, and each connection's lane takes them from there.
 * Throws a TypeError for handlers that are none.
 */
export function createHandover(options: HandoverOptions): Worker {
  const { database, clock, logger, feed, handlers } = options;
  const checked = handlers === undefined ? undefined : checkHandlers(handlers);
  if (checked !== undefined && 'problem' in checked)
    throw new TypeError(`the given object ${checked.problem}`);
  let context: LaneContext | undefined;
  let unwatch = (): void => undefined;
  const worker = createWorker(options, {
    kind: HANDOVER,
    concurrency: CONCURRENCY,
    readDue: (now, limit) => readDueLanes(database, now, limit),
    readDueAt: (connectionId) => readDueAt(database, connectionId),
    run: async (run) => (context === undefined ? 'stopped' : await runLane(context, run)),
  });
  const distributor = createDistributor({ database, clock, logger, onFilled: (key) => worker.notify(key) });

  return {
    ...worker,
    async start() {
      if (handlers === undefined) return;
      const { feedId, isFirst, cursor, waiting } = await beginHandover(database);
      const told = { seq: cursor, waiting };
      if (isFirst)
        logger.info(
          told,
          'hand-over begins with the next change; those up to this one are in the feed alone',
        );
      else logger.info(told, 'hand-over goes on');
      context = { ...options, handlers, keyOf: (seq) => changeKey(feedId, seq) };
      unwatch = feed.watch(distributor.nudge);
      await worker.start();
    },
    async settle() {
      if (context === undefined) return;
      await distributor.settle();
      await worker.settle();
    },
    async close() {
      unwatch();
      await Promise.all([distributor.close(), worker.close()]);
    },
  };
}
