import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { CreatedConnection, ServiceClient } from '../service-client/service-client.ts';
import { isRefusal, ServiceError } from '../service-client/service-errors.ts';
import type { Presence } from '../work/presence.ts';
import {
  beginAttempt,
  CREATION,
  type Creation,
  endCreated,
  endLost,
  endRefused,
  readCreation,
} from './creation-store.ts';
import { isLostAnswer, isPassing, rest } from './repeat-call.ts';

export interface CreateOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly presence: Presence;
  readonly client: ServiceClient;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/**
 * Outcome of a creation: `created` now, `known` from another attempt, `in_progress` at the service for longer
 * than a caller waits, or `unknown`: a response was lost, and the key has expired.
 */
export type CreationOutcome =
  | { readonly kind: 'created'; readonly connection: CreatedConnection }
  | { readonly kind: 'known'; readonly connectionId: string }
  | { readonly kind: 'in_progress'; readonly retryAfterMs: number }
  | { readonly kind: 'unknown' };

/** A caller waits for the response, or for its turn. */
const DEADLINE_MS = 75_000;
const LOST_ATTEMPTS = 3;
const PAUSE = { firstMs: 1_200, longestMs: 60_000 };
const IN_PROGRESS_PAUSE_MS = 1_000;
/** Rounded on both sides: slightly more than was requested. */
const MARGIN_MS = 250;
const LONGEST_IN_PROGRESS_PAUSE_MS = 5_000;
const MAX_IN_PROGRESS = 10;
/** What is still in doubt then is retried in the background. */
export const AGAIN_AFTER_MS = 60_000;

/**
 * Creates the connection of a committed request at the service. Each attempt is committed before its call,
 * and all attempts have the same key: a call whose response was lost is retried, and no request creates two
 * connections. Throws a `ServiceError` if the service rejects the call, or does not respond several times in
 * a row. The lease only shows other processes that the creation is in progress: thanks to the key, concurrent
 * attempts do no harm. Implements `Rules per endpoint, 2`.
 */
export async function createOnce(
  options: CreateOptions,
  creation: Creation,
  slotsAvailable: number | null,
): Promise<CreationOutcome> {
  const held = await options.presence.hold(
    `${CREATION}:${creation.id}`,
    (_lease, leased) => createUnderLease(options, creation, slotsAvailable, leased),
    options.closing,
  );
  return held.held ? held.value : await createUnderLease(options, creation, slotsAvailable, options.closing);
}

/** The same, for a caller that has the lease. */
export async function createUnderLease(
  options: Omit<CreateOptions, 'presence' | 'closing'>,
  creation: Creation,
  slotsAvailable: number | null,
  giveUp: AbortSignal,
): Promise<CreationOutcome> {
  const timeUp = new AbortController();
  const cancel = options.clock.after(DEADLINE_MS, () => timeUp.abort());
  try {
    return await ask(options, creation, slotsAvailable, AbortSignal.any([giveUp, timeUp.signal]));
  } finally {
    cancel();
  }
}

/** Retries until the service has answered. */
async function ask(
  options: Omit<CreateOptions, 'presence' | 'closing'>,
  creation: Creation,
  slotsAvailable: number | null,
  signal: AbortSignal,
): Promise<CreationOutcome> {
  const { clock } = options;
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
    const again = isPassing(outcome) && lost < LOST_ATTEMPTS;
    if (!again || !(await rest(clock, backOffMs(lost, PAUSE), signal))) throw outcome;
  }
}

/** One attempt and its outcome. */
async function attempt(
  options: Omit<CreateOptions, 'presence' | 'closing'>,
  { id, label }: Creation,
  slotsAvailable: number | null,
  signal: AbortSignal,
): Promise<CreationOutcome | ServiceError> {
  const { database, clock, client } = options;
  const key = await beginAttempt(database, id, slotsAvailable, clock.now());
  if (key === null) {
    const now = await readCreation(database, id);
    return now?.connectionId ? { kind: 'known', connectionId: now.connectionId } : { kind: 'unknown' };
  }
  let connection: CreatedConnection;
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
