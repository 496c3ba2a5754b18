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

/** The `Date` of an answer is cut to the second; the secret before may have signed until the end of it. */
const CUT_OFF_MS = 999;

/** What the work on a registration shares in one process. */
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
  /** The call that issues a new secret and voids the one before. */
  readonly issue: (signal: AbortSignal) => Promise<IssuedSecret>;
  /** Where the service delivers to afterwards; null: as before. */
  readonly url: string | null;
  /** The secret of before gets no time of grace. */
  readonly compromised: boolean;
  /** From the mark to the call, so that every process has seen the mark when the secret changes. */
  readonly noticeMs: number;
  /** Before each further call, when one failed and may have taken effect. */
  readonly retryAfterMs: readonly number[];
}

/** A secret was replaced. Times in epoch milliseconds, ours. */
export interface Replaced {
  readonly at: number;
  /** Until then deliveries that were signed before are taken; null: none are. */
  readonly previousAcceptedUntil: number | null;
}

/** Somebody else took over in the middle of a replacement; it is to be run again. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('another process took over the registration of the webhook');
  }
}

/**
 * Marks the secret as being replaced, calls the service, stores what it issued. The mark is committed before
 * the call: whoever fails a verification meanwhile waits for the new secret, and if this process dies the
 * mark tells that the stored secret may be worth nothing. A mark found from before means the same, so it goes
 * only with a secret in its place. Implements `Rules per endpoint`, 12-14: the old secret is void at once.
 * Throws a `ServiceError`, `LeaseLost`, or what the database throws.
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
    // Nothing was changed, now or by whoever left a mark. Anything else may have: the mark stays.
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
  // Another process took over while the call was out. Which of the two calls came last, nobody can tell.
  await markAbandoned(database, subscriptionId, now);
  throw new LeaseLost();
}

interface Called {
  readonly issued: IssuedSecret;
  /** When the first call failed that may have taken effect, on our clock; undefined: none did. */
  readonly uncertainAt: number | undefined;
}

/** A call failed that may have taken effect. */
class Uncertain extends Error {
  override readonly name = 'Uncertain';
}

/** Calls until it is known which secret holds: after a lost answer only a further one tells. */
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
 * The latest time at which the secret of before can have signed, on the service's clock: when the answer was
 * made, or when the first call was out that may have taken effect. The service's clock is only known to the
 * second, so ours decides within it, unless ours is evidently behind.
 */
function lastSignedBefore(called: Called, now: number, foundCallAt: number | undefined): number {
  const { issuedAt } = called.issued;
  const behind = issuedAt !== null && now < issuedAt ? issuedAt + CUT_OFF_MS - now : 0;
  const answered = issuedAt === null || behind > 0 ? now : Math.min(now, issuedAt + CUT_OFF_MS);
  return Math.min(answered, called.uncertainAt ?? Infinity, foundCallAt ?? Infinity) + behind;
}
