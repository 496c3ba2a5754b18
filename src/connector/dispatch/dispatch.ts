import type { Notifier } from '../../runtime/notifier/notifier.ts';
import type { Feed } from '../feed/feed.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Worker } from '../work/worker.ts';
import { checkHandlers } from './check-handlers.ts';
import { changeKey } from './dead-letters.ts';
import { beginDispatch } from './distribute.ts';
import { createDistributor } from './distributor.ts';
import type { ChangeHandlers } from './handlers.ts';
import type { QueueContext } from './queue-context.ts';
import { DISPATCH, readDueAt, readDueQueues } from './queue-store.ts';
import { runQueue } from './run-queue.ts';

/** Maximum number of queues that run concurrently in a process. They mostly wait for the database of the CRM. */
const CONCURRENCY = 50;

export interface DispatchOptions extends Omit<QueueContext, 'handlers' | 'keyOf'> {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly feed: Pick<Feed, 'watch'>;
  /** Undefined: this process calls no handler. */
  readonly handlers: ChangeHandlers | undefined;
  readonly checkEveryMs?: number;
  /** Maximum number of queues that run concurrently in a process. Default: 50. */
  readonly concurrency?: number;
}

/**
 * Calls the CRM's handler with each change. The key of the duty is the connection, because the changes of a
 * connection come in order. A cursor distributes the changes of the feed to the queues of their connections.
 * Throws a TypeError for invalid handlers.
 */
export function createDispatch(options: DispatchOptions): Worker {
  const { database, clock, logger, feed, handlers } = options;
  const checked = handlers === undefined ? undefined : checkHandlers(handlers);
  if (checked !== undefined && 'problem' in checked)
    throw new TypeError(`the given object ${checked.problem}`);
  let context: QueueContext | undefined;
  let unwatch = (): void => undefined;
  const worker = createWorker(options, {
    kind: DISPATCH,
    concurrency: options.concurrency ?? CONCURRENCY,
    readDue: (now, limit) => readDueQueues(database, now, limit),
    readDueAt: (connectionId) => readDueAt(database, connectionId, clock.now()),
    run: async (run) => (context === undefined ? 'stopped' : await runQueue(context, run)),
  });
  const distributor = createDistributor({ database, clock, logger, onFilled: (key) => worker.notify(key) });

  return {
    ...worker,
    async start() {
      if (handlers === undefined) return;
      const { feedId, isFirst, cursor, waiting } = await beginDispatch(database);
      const details = { seq: cursor, waiting };
      if (isFirst)
        logger.info(details, 'dispatch starts with the next change; earlier changes are only in the feed');
      else logger.info(details, 'dispatch continues');
      context = { ...options, handlers, keyOf: (seq) => changeKey(feedId, seq) };
      unwatch = feed.watch(distributor.notify);
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
