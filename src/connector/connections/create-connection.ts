import type { ReadCreatedConnection } from '../../contract/service/read-answers.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import { type Repeat, repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import { type Account, readAccount } from '../accounts/account-store.ts';
import type { Base } from '../db/base.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import {
  isLostAnswer,
  isRefusal,
  ServiceError,
  ServiceUnreachable,
} from '../service-client/service-errors.ts';
import { createPlans } from '../work/planned.ts';
import {
  ATTEMPT_MS,
  beginAttempt,
  type Creation,
  endCreated,
  endLost,
  endRefused,
  listPlannedCreations,
  type PlannedCreation,
  readCreation,
  takeCreation,
} from './creation-store.ts';

/** Total time of all attempts: a caller waits for the response. */
const DEADLINE_MS = 75_000;
const ATTEMPTS = 4;
const PAUSE = { firstMs: 600, longestMs: 60_000 };
/** A service that asks for a longer wait is not waited for. */
const LONGEST_ASKED_MS = 5_000;
/** Rounded on both sides: slightly more than was requested. */
const MARGIN_MS = 250;
/** What is still in doubt then is retried in the background. */
const AGAIN_AFTER_MS = 60_000;

/** The shortest wait for a creation that is still in progress at the service, whatever it asks for. */
export const IN_PROGRESS_PAUSE_MS = 1_000;

interface CallOptions {
  readonly clock: Clock;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/** The wait after which a retry may help, because no answer or no final one came; undefined if none will. */
function waitAfter(error: unknown, attempt: number): number | undefined {
  const pause = backOffMs(attempt, PAUSE);
  if (isRefusal(error, 'idempotency_in_progress')) {
    const asked = Math.max(error.retryAfterMs ?? 0, IN_PROGRESS_PAUSE_MS);
    return asked > LONGEST_ASKED_MS ? undefined : Math.max(pause, asked + MARGIN_MS);
  }
  return isLostAnswer(error) || error instanceof ServiceUnreachable ? pause : undefined;
}

/**
 * Makes an idempotent call, such as a logout, a deletion or a creation under its key, and retries it if its response is
 * lost: four attempts, at most 75 s. Throws what the last attempt threw.
 */
export async function repeatCall<T>(
  { clock, closing }: CallOptions,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const attempts = async (signal: AbortSignal): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call(signal);
      } catch (error) {
        const waitMs = waitAfter(error, attempt);
        if (waitMs === undefined || attempt === ATTEMPTS) throw error;
        await clock.sleep(waitMs, signal).catch(() => Promise.reject(error));
      }
    }
  };
  return await abortAfter(clock, DEADLINE_MS, attempts, closing);
}

export interface CreateOptions extends CallOptions {
  readonly database: Database;
  readonly client: ServiceClient;
}

/**
 * Outcome of a creation: `created` now, `known` from another attempt, or `unknown`: a response was lost, and the key
 * has expired.
 */
export type CreationOutcome =
  | { readonly kind: 'created'; readonly connection: ReadCreatedConnection }
  | { readonly kind: 'known'; readonly connectionId: string }
  | { readonly kind: 'unknown' };

/**
 * Creates the connection of a committed request at the service. Each attempt is committed before its call,
 * and all attempts have the same key: a call whose response was lost is retried, and no request creates two
 * connections, however many processes attempt it. Throws a `ServiceError` if the service rejects the call, is still
 * busy with an earlier one, or does not respond several times in a row. Implements `Rules per endpoint, 2`.
 */
export async function createOnce(
  options: CreateOptions,
  creation: Creation,
  slotsAvailable: number | null,
): Promise<CreationOutcome> {
  return await repeatCall(options, (signal) => attempt(options, creation, slotsAvailable, signal));
}

/** One attempt and its outcome. */
async function attempt(
  { database, clock, client }: CreateOptions,
  { id, label }: Creation,
  slotsAvailable: number | null,
  signal: AbortSignal,
): Promise<CreationOutcome> {
  const key = await beginAttempt(database, id, slotsAvailable, clock.now());
  if (key === null) {
    const now = await readCreation(database, id);
    return now?.connectionId ? { kind: 'known', connectionId: now.connectionId } : { kind: 'unknown' };
  }
  let connection: ReadCreatedConnection;
  try {
    connection = await client.createConnection(label === null ? {} : { label }, key, signal);
  } catch (error) {
    const nextAt = clock.now() + AGAIN_AFTER_MS;
    if (isLostAnswer(error)) await endLost(database, id, error.code, nextAt);
    // Anything else is thrown before the call: its credential could not be decrypted.
    else await endRefused(database, id, error instanceof ServiceError ? error.code : 'not_asked', nextAt);
    throw error;
  }
  await endCreated(database, id, connection, clock.now());
  return { kind: 'created', connection };
}

/** How often a process looks for creations in doubt, and how many of an account it asks about at a time. */
const FINISH_EVERY_MS = 5_000;
const MAX_AT_A_TIME = 50;

interface FinishOptions extends Base, CallOptions {
  /** A client of the account; null if this process must not make calls for it. */
  readonly clientOf: (account: Account) => ServiceClient | null;
}

/**
 * Retries, with the same key, creations whose response was lost because the process died or the service was
 * away for a long time.
 */
export function finishCreations(options: FinishOptions): Repeat {
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
    everyMs: FINISH_EVERY_MS,
    async run() {
      const planned = await listPlannedCreations(database, clock.now());
      const due = planned.filter(({ id, nextAttemptAt }) => dueAtOf(id, nextAttemptAt ?? 0) <= clock.now());
      for (const accountId of new Set(due.map((creation) => creation.accountId))) {
        const account = await readAccount(database, accountId);
        const client = account === null ? null : clientOf(account);
        if (client === null) continue;
        const ofAccount = due.filter((creation) => creation.accountId === accountId).slice(0, MAX_AT_A_TIME);
        await Promise.all(ofAccount.map((creation) => finish(creation, client)));
      }
    },
    onError: (err) => logger.warn({ err }, 'creations in doubt could not be finished; retrying soon'),
  });
}
