import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Presence } from '../leases/presence.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { createOnce } from './create-connection.ts';
import { CREATION, type Creation, endLost, readDueCreations } from './creation-store.ts';

const LOOK_EVERY_MS = 30_000;

export interface FinishCreationsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly presence: Presence;
  /** A client of the account; null if this process must not make calls for it. */
  readonly clientFor: (accountId: string) => Promise<ServiceClient | null>;
  /** Called when a change was written. */
  readonly onCreated: () => void;
}

export interface CreationFinisher {
  /** Finishes creations that earlier processes left in doubt, and checks again from time to time. */
  start(): void;
  /** Resolves when nothing is being finished. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Retries, with the same key, creations whose response was lost because the process died or the service was
 * away for a long time.
 */
export function createCreationFinisher(options: FinishCreationsOptions): CreationFinisher {
  const { database, clock, logger, presence } = options;
  const closing = new AbortController();
  let looking: Promise<void> = Promise.resolve();
  let cancel = (): void => undefined;

  async function finish(creation: Creation): Promise<void> {
    const client = await options.clientFor(creation.accountId);
    if (client === null) return;
    const create = { database, clock, presence, client, closing: closing.signal };
    try {
      const outcome = await createOnce(create, creation, null);
      if (outcome.kind === 'created') options.onCreated();
      if (outcome.kind !== 'unknown') return;
      await endLost(database, creation.id, 'key_expired', null);
      logger.warn({ accountId: creation.accountId }, 'it remains unknown whether a connection was created');
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (!closing.signal.aborted) {
        logger.warn({ err, accountId: creation.accountId }, 'a creation is still in doubt; retrying later');
      }
    }
  }

  async function look(all: boolean): Promise<void> {
    for (const creation of await readDueCreations(database, clock.now(), all)) {
      if (closing.signal.aborted) return;
      await finish(creation);
    }
  }

  /** One check at a time. */
  function run(all: boolean): void {
    cancel();
    looking = looking
      .then(() => look(all))
      .catch((err: unknown) => logger.warn({ err }, 'creations in doubt could not be checked'))
      .then(schedule);
  }

  function schedule(): void {
    cancel();
    if (!closing.signal.aborted) cancel = clock.after(LOOK_EVERY_MS, () => run(false));
  }

  return {
    start() {
      presence.onLeft(CREATION, () => run(false));
      run(true);
    },
    settle: () => looking,
    async close() {
      closing.abort();
      cancel();
      await looking;
    },
  };
}
