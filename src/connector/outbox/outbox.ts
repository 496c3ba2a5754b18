import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Worker } from '../work/worker.ts';
import type { QueueContext } from './queue-context.ts';
import { endWaits, readDueQueues, readNext, SEND } from './queue-store.ts';
import { runQueue } from './run-queue.ts';

/** Queues that a process runs at a time: mostly they wait for the service. */
const CONCURRENCY = 100;
/** Files that a process holds in memory at a time, 40 MB each at worst. */
const FILES = 4;

export interface OutboxOptions
  extends Omit<QueueContext, 'fileSlots' | 'givingUp' | 'unanswered' | 'onAnswering'> {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly lookEveryMs?: number;
}

export interface Outbox extends Worker {
  /**
   * The service answers this account again: what waits only for that is sent now, in whichever process. Never rejects:
   * each send comes to its turn by itself in the end.
   */
  serviceAnswers(accountId: string): Promise<void>;
}

/** Sends what the CRM has queued: its keys are connections, since the sends of one go out in order. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { database, clock, logger } = options;
  const shared = {
    ...options,
    fileSlots: createTurns(FILES),
    unanswered: new Set<string>(),
    onAnswering: (accountId: string) => void serviceAnswers(accountId),
  };
  const worker = createWorker(options, {
    kind: SEND,
    concurrency: CONCURRENCY,
    readDue: (now, limit) => readDueQueues(database, now, limit),
    async readDueAt(connectionId) {
      const next = await readNext(database, connectionId, clock.now());
      return next === null ? null : (next.nextAttemptAt ?? 0);
    },
    run: (run) => runQueue({ ...shared, givingUp: run.givingUp }, run),
  });

  async function serviceAnswers(accountId: string): Promise<void> {
    try {
      for (const connectionId of await endWaits(database, accountId, clock.now()))
        worker.notify(connectionId);
    } catch (err) {
      logger.warn({ err, accountId }, 'sends that wait for the service wait to the end');
    }
  }

  return { ...worker, serviceAnswers };
}
