import type { ReadCreatedConnection } from '../../contract/service/read-answers.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { isRefusal, ServiceError, ServiceUnreachable } from '../service-client/service-errors.ts';
import {
  beginAttempt,
  type Creation,
  endCreated,
  endLost,
  endRefused,
  readCreation,
} from './creation-store.ts';

/** Total time of all attempts: a caller waits for the response. */
const DEADLINE_MS = 75_000;
const ATTEMPTS = 3;
const PAUSE = { firstMs: 600, longestMs: 60_000 };
const CREATION_PAUSE = { firstMs: 1_200, longestMs: 60_000 };
const IN_PROGRESS_PAUSE_MS = 1_000;
/** Rounded on both sides: slightly more than was requested. */
const MARGIN_MS = 250;
const LONGEST_IN_PROGRESS_PAUSE_MS = 5_000;
const MAX_IN_PROGRESS = 10;
/** What is still in doubt then is retried in the background. */
const AGAIN_AFTER_MS = 60_000;

interface CallOptions {
  readonly clock: Clock;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/** True if it is unknown whether the service executed the call. */
export function isLostAnswer(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.mayHaveActed;
}

/** True if a retry may help: the response was lost, or no connection was made. */
function isPassing(error: unknown): error is ServiceError {
  return isLostAnswer(error) || error instanceof ServiceUnreachable;
}

/** Runs `work` with a signal that aborts after 75 s, or when the process stops. */
const withinDeadline = <T>(
  { clock, closing }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => abortAfter(clock, DEADLINE_MS, work, closing);

/** Sleeps; false if it was aborted. */
async function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return await clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
}

/**
 * Makes an idempotent call, such as a logout or a deletion, and retries it if its response is lost: three
 * attempts, at most 75 s. Throws what the last attempt threw.
 */
export async function repeatCall<T>(
  options: CallOptions,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return await withinDeadline(options, async (signal) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call(signal);
      } catch (error) {
        const again = isPassing(error) && attempt < ATTEMPTS && !signal.aborted;
        if (!again || !(await rest(options.clock, backOffMs(attempt, PAUSE), signal))) throw error;
      }
    }
  });
}

export interface CreateOptions extends CallOptions {
  readonly database: Database;
  readonly client: ServiceClient;
}

/**
 * Outcome of a creation: `created` now, `known` from another attempt, `in_progress` at the service for longer
 * than a caller waits, or `unknown`: a response was lost, and the key has expired.
 */
export type CreationOutcome =
  | { readonly kind: 'created'; readonly connection: ReadCreatedConnection }
  | { readonly kind: 'known'; readonly connectionId: string }
  | { readonly kind: 'in_progress'; readonly retryAfterMs: number }
  | { readonly kind: 'unknown' };

/**
 * Creates the connection of a committed request at the service. Each attempt is committed before its call,
 * and all attempts have the same key: a call whose response was lost is retried, and no request creates two
 * connections, however many processes attempt it. Throws a `ServiceError` if the service rejects the call, or does
 * not respond several times in a row. Implements `Rules per endpoint, 2`.
 */
export async function createOnce(
  options: CreateOptions,
  creation: Creation,
  slotsAvailable: number | null,
): Promise<CreationOutcome> {
  const { clock } = options;
  return await withinDeadline(options, async (signal) => {
    let lost = 0;
    let waited = 0;
    for (;;) {
      const outcome = await attempt(options, creation, slotsAvailable, signal);
      if (!(outcome instanceof ServiceError)) return outcome;
      const pause = Math.max(outcome.retryAfterMs ?? 0, IN_PROGRESS_PAUSE_MS);
      if (isRefusal(outcome, 'idempotency_in_progress')) {
        waited += 1;
        const patient = waited <= MAX_IN_PROGRESS && pause <= LONGEST_IN_PROGRESS_PAUSE_MS;
        if (patient && (await rest(clock, pause + MARGIN_MS, signal))) continue;
        return { kind: 'in_progress', retryAfterMs: pause };
      }
      lost += 1;
      const again = isPassing(outcome) && lost < ATTEMPTS;
      if (!again || !(await rest(clock, backOffMs(lost, CREATION_PAUSE), signal))) throw outcome;
    }
  });
}

/** One attempt and its outcome. */
async function attempt(
  { database, clock, client }: CreateOptions,
  { id, label }: Creation,
  slotsAvailable: number | null,
  signal: AbortSignal,
): Promise<CreationOutcome | ServiceError> {
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
    if (error instanceof ServiceError) return error;
    throw error;
  }
  await endCreated(database, id, connection, clock.now());
  return { kind: 'created', connection };
}
