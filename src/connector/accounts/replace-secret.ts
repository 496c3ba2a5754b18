import { randomUUID } from 'node:crypto';
import { PREVIOUS_SECRET_ACCEPTED_MS } from '../../contract/connector/webhook-endpoints.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Lease } from '../db/lease.ts';
import { secretContext } from '../db/sealed-columns.ts';
import type { IssuedSecret } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import type { Presence } from '../work/presence.ts';
import { clearPending, markAbandoned, markPending, storeIssued } from './subscription-store.ts';

/**
 * The `Date` of a response is truncated to the second, so the previous secret may have signed until the end of
 * it.
 */
const CUT_OFF_MS = 999;

/** What the registrations of one process share. */
export interface RegistrationKeeper {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly presence: Presence;
}

export interface ReplaceOptions {
  readonly keeper: RegistrationKeeper;
  readonly keyRing: KeyRing;
  readonly subscriptionId: string;
}

/** How a secret is replaced. */
export interface Replacement {
  /** The call that issues a new secret and invalidates the previous one. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedSecret>;
  /** The address of deliveries afterwards; null if it does not change. */
  readonly url: string | null;
  /** The previous secret is no longer accepted at all. */
  readonly compromised: boolean;
  /** Time between the mark and the call, so that every process has seen the mark when the secret changes. */
  readonly noticeMs: number;
  /** Waits before further calls, if one failed and may have taken effect. */
  readonly retryAfterMs: readonly number[];
}

/** A replaced secret. Times in epoch milliseconds of our clock. */
export interface Replaced {
  readonly at: number;
  /** Until then, deliveries that were signed before are accepted; null if they are not. */
  readonly previousAcceptedUntil: number | null;
}

/** Another process took over during a replacement, which must be repeated. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('another process took over the registration of the webhook');
  }
}

/**
 * Marks the secret as being replaced, calls the service, and stores the new secret. The mark is committed
 * before the call: verifications that fail during the call wait for the new secret, and if this process dies,
 * the mark shows that the stored secret may be invalid. An existing mark means the same, so it is only removed
 * together with storing a new secret. Implements `Rules per endpoint`, 12-14: the old secret is invalid at
 * once. Throws a `ServiceError`, `LeaseLost`, or what the database throws.
 */
export async function replaceSecret(
  options: ReplaceOptions,
  lease: Lease,
  replacement: Replacement,
  signal: AbortSignal,
): Promise<Replaced> {
  const { keeper, keyRing, subscriptionId } = options;
  const { database, clock } = keeper;
  const owner = randomUUID();
  const callAt = clock.now() + replacement.noticeMs;
  const marked = await markPending(database, lease, {
    subscriptionId,
    owner,
    now: clock.now(),
    callAt,
    compromised: replacement.compromised,
  });
  if (marked === undefined) throw new LeaseLost();
  const wait = marked.hasSecret ? marked.callAt - clock.now() : 0;
  let called: Called;
  try {
    if (wait > 0) await clock.sleep(wait, signal);
    called = await callSurely(keeper, replacement, signal);
  } catch (error) {
    // Neither this call nor an earlier one can have changed anything. In all other cases, the mark stays.
    if (!marked.found && !(error instanceof Uncertain)) await clearPending(database, subscriptionId, owner);
    throw error instanceof Uncertain ? error.cause : error;
  }
  const now = clock.now();
  const compromised = marked.compromised || replacement.compromised;
  const acceptUntil = marked.hasSecret && !compromised ? now + PREVIOUS_SECRET_ACCEPTED_MS : null;
  const stored = await storeIssued(database, lease, {
    subscriptionId,
    owner,
    sealed: await keyRing.seal(called.issued.secret, secretContext(subscriptionId)),
    previousMaxTimestamp: lastSignedBefore(called, now, marked.found ? marked.callAt : undefined),
    previousAcceptUntil: acceptUntil,
    url: replacement.url,
    now,
  });
  if (stored) return { at: now, previousAcceptedUntil: acceptUntil };
  // Another process took over during the call. It is unknown which of the two calls was the last.
  await markAbandoned(database, subscriptionId, now);
  throw new LeaseLost();
}

interface Called {
  readonly issued: IssuedSecret;
  /** When the first call failed that may have taken effect, on our clock; undefined if none did. */
  readonly uncertainAt: number | undefined;
}

/** A call failed that may have taken effect. */
class Uncertain extends Error {
  override readonly name = 'Uncertain';
}

/** Calls until it is known which secret is valid: after a lost answer, only another call can show it. */
async function callSurely(
  { clock }: RegistrationKeeper,
  { issue, retryAfterMs }: Replacement,
  signal: AbortSignal,
): Promise<Called> {
  let uncertainAt: number | undefined;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return { issued: await issue(signal), uncertainAt };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.mayHaveActed) uncertainAt ??= clock.now();
      if (uncertainAt === undefined) throw error;
      const wait = retryAfterMs[attempt];
      if (wait === undefined || signal.aborted) throw new Uncertain(error.message, { cause: error });
      await clock.sleep(wait, signal).catch(() => {
        throw new Uncertain(error.message, { cause: error });
      });
    }
  }
}

/**
 * The latest time at which the previous secret can have signed, on the service's clock: the time of the
 * response, or the time of the first call that may have taken effect. The service's clock is known only to the
 * second; our clock decides within that second, unless it is clearly behind.
 */
function lastSignedBefore(called: Called, now: number, foundCallAt: number | undefined): number {
  const { issuedAt } = called.issued;
  const behind = issuedAt !== null && now < issuedAt ? issuedAt + CUT_OFF_MS - now : 0;
  const answered = issuedAt === null || behind > 0 ? now : Math.min(now, issuedAt + CUT_OFF_MS);
  return Math.min(answered, called.uncertainAt ?? Infinity, foundCallAt ?? Infinity) + behind;
}
