import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Lease } from '../db/lease.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { type RegistrationKeeper, type Replaced, type Replacement, replaceSecret } from './replace-secret.ts';
import { OLDEST_SECRETS_MS } from './subscription-secrets.ts';
import { noteRegistered, REGISTRATION, readSubscription } from './subscription-store.ts';

/**
 * After a rotation whose answer was lost, no signature can be verified with certainty, so the call is repeated
 * at once.
 */
const ROTATION_RETRIES_MS = [0, 250, 1_000, 2_000];

export interface RegisterOptions {
  readonly keeper: RegistrationKeeper;
  readonly keyRing: KeyRing;
  readonly client: ServiceClient;
  readonly subscriptionId: string;
  /** The public HTTPS address of the receiver; null if the webhook was registered by hand and is not changed. */
  readonly url: string | null;
  /** Time between announcing a replacement and the call, so that every process knows of it. */
  readonly noticeMs?: number | undefined;
}

/** `registered`: a new secret was issued. `unchanged`: everything was in place. */
export type Registration = 'registered' | 'unchanged';

/**
 * Replaces the signing secret without losing a delivery: deliveries that are signed during the call wait for
 * its outcome, and those signed before are accepted for a while longer, unless the secret is `compromised`. A
 * rotation whose answer is lost is repeated at once. Null if another process is registering or rotating. Throws
 * a `ServiceError`, `LeaseLost`, or what the database throws; if it is unknown whether the rotation took
 * effect, the next registration replaces the secret. Implements `Rules per endpoint`, 12-14.
 */
export async function rotateSecret(
  options: RegisterOptions,
  compromised: boolean,
  signal?: AbortSignal,
): Promise<Replaced | null> {
  const held = await options.keeper.presence.hold(
    `${REGISTRATION}:${options.subscriptionId}`,
    (lease, leased) => replaceSecret(options, lease, rotation(options, compromised), leased),
    signal,
  );
  return held.held ? held.value : null;
}

function rotation(
  { client, noticeMs = OLDEST_SECRETS_MS }: RegisterOptions,
  compromised: boolean,
): Replacement {
  return {
    issue: (signal) => client.rotateWebhook(signal),
    url: null,
    compromised,
    noticeMs,
    retryAfterMs: ROTATION_RETRIES_MS,
  };
}

/**
 * Ensures that the service delivers to `url` and that the signing secret is stored. `PUT /webhook` invalidates
 * the secret even if the address stays the same. So it is only called if the address differs, no secret is
 * stored, or an earlier replacement was not finished, because the secret is unknown then. Throws a
 * `ServiceError`, `LeaseLost`, or what the database throws. Implements `Rules per endpoint`, 12-14.
 */
export async function registerWebhook(
  options: RegisterOptions,
  lease: Lease,
  signal: AbortSignal,
): Promise<Registration> {
  const { keeper, client, subscriptionId, url, noticeMs = OLDEST_SECRETS_MS } = options;
  const { database, clock } = keeper;
  const stored = await readSubscription(database, subscriptionId);
  const isPending = stored !== undefined && stored.pendingAt !== null;
  if (url === null) {
    if (!isPending) return 'unchanged';
    await replaceSecret(options, lease, rotation(options, false), signal);
    return 'registered';
  }
  // This process has the lease, so the process that set the mark no longer works on it.
  if (!isPending && stored?.hasSecret === true) {
    const current = await client.getWebhook(signal);
    if (current.url === url && current.secretSet !== false) {
      await noteRegistered(database, lease, { id: subscriptionId, url, now: clock.now() });
      return 'unchanged';
    }
  }
  const issue: Replacement['issue'] = (calling) => client.putWebhook(url, calling);
  await replaceSecret(options, lease, { issue, url, compromised: false, noticeMs, retryAfterMs: [] }, signal);
  return 'registered';
}
