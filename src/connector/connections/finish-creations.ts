import { type Repeat, repeat } from '../../runtime/clock/repeat.ts';
import { type Account, readAccount } from '../accounts/account-store.ts';
import type { Base } from '../db/base.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { createPlans } from '../work/planned.ts';
import { createOnce } from './create-connection.ts';
import {
  ATTEMPT_MS,
  endLost,
  listPlannedCreations,
  type PlannedCreation,
  takeCreation,
} from './creation-store.ts';

/** How often a process looks for creations in doubt, and how many of an account it asks about at a time. */
const EVERY_MS = 5_000;
const MAX = 50;

export interface FinishCreationsOptions extends Base {
  /** A client of the account; null if this process must not make calls for it. */
  readonly clientOf: (account: Account) => ServiceClient | null;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/**
 * Retries, with the same key, creations whose response was lost because the process died or the service was
 * away for a long time.
 */
export function finishCreations(options: FinishCreationsOptions): Repeat {
  const { database, clock, logger, clientOf, closing } = options;
  const dueAtOf = createPlans(clock, ATTEMPT_MS);

  async function finish(creation: PlannedCreation, client: ServiceClient): Promise<void> {
    const { id, accountId } = creation;
    if (!(await takeCreation(database, creation, clock.now()))) return;
    try {
      const outcome = await createOnce({ database, clock, client, closing }, creation, null);
      if (outcome.kind !== 'unknown') return;
      await endLost(database, id, 'key_expired', null);
      logger.warn({ accountId }, 'it remains unknown whether a connection was created');
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (!closing.aborted) logger.warn({ err, accountId }, 'a creation is still in doubt; retrying later');
    }
  }

  return repeat({
    clock,
    everyMs: EVERY_MS,
    async run() {
      const planned = await listPlannedCreations(database, clock.now());
      const due = planned.filter(({ id, nextAttemptAt }) => dueAtOf(id, nextAttemptAt ?? 0) <= clock.now());
      for (const accountId of new Set(due.map((creation) => creation.accountId))) {
        const account = await readAccount(database, accountId);
        const client = account === null ? null : clientOf(account);
        if (client === null) continue;
        const ofAccount = due.filter((creation) => creation.accountId === accountId).slice(0, MAX);
        await Promise.all(ofAccount.map((creation) => finish(creation, client)));
      }
    },
    onError: (err) => logger.warn({ err }, 'creations in doubt could not be finished; retrying soon'),
  });
}
