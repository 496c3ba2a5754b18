import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Run, type RunEnd, type Worker } from '../work/worker.ts';
import { createUnderLease } from './create-connection.ts';
import {
  attemptAtOnce,
  CREATION,
  endLost,
  readCreation,
  readDueAt,
  readDueCreations,
} from './creation-store.ts';

/** Creations that a process asks about at a time. */
const CONCURRENCY = 50;

export interface FinishCreationsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly presence: Presence;
  readonly notifier: Notifier;
  /** A client of the account; null if this process must not make calls for it. */
  readonly clientFor: (accountId: string) => Promise<ServiceClient | null>;
  /** Called when a change was written. */
  readonly onCreated: () => void;
}

/**
 * Retries, with the same key, creations whose response was lost because the process died or the service was
 * away for a long time. Those that earlier processes left are retried at the start.
 */
export function createCreationFinisher(options: FinishCreationsOptions): Worker {
  const { database, clock, logger } = options;

  async function finish({ key: id, lost, stopping }: Run): Promise<RunEnd> {
    const creation = await readCreation(database, id);
    const dueAt = await readDueAt(database, id, clock.now());
    if (creation === null || dueAt === null || dueAt > clock.now()) return 'idle';
    const { accountId } = creation;
    const client = await options.clientFor(accountId);
    if (client === null) return 'stopped';
    try {
      const giveUp = AbortSignal.any([lost, stopping]);
      const outcome = await createUnderLease({ database, clock, client }, creation, null, giveUp);
      if (outcome.kind === 'created') options.onCreated();
      if (outcome.kind === 'unknown') {
        await endLost(database, id, 'key_expired', null);
        logger.warn({ accountId }, 'it remains unknown whether a connection was created');
      }
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (!stopping.aborted) logger.warn({ err, accountId }, 'a creation is still in doubt; retrying later');
    }
    return stopping.aborted ? 'stopped' : 'idle';
  }

  const worker = createWorker(options, {
    kind: CREATION,
    concurrency: CONCURRENCY,
    readDue: (now, limit) => readDueCreations(database, now, limit),
    readDueAt: (id) => readDueAt(database, id, clock.now()),
    run: finish,
  });
  return {
    ...worker,
    async start() {
      await attemptAtOnce(database, clock.now());
      await worker.start();
    },
  };
}
