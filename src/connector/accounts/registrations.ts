import { randomUUID } from 'node:crypto';
import { PREVIOUS_SECRET_ACCEPTED_MS } from '../../contract/connector/webhook-endpoints.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Base } from '../db/base.ts';
import type { Lease } from '../db/lease.ts';
import { secretContext } from '../db/sealed-columns.ts';
import type { IssuedSecret, ServiceClient } from '../service-client/service-client.ts';
import { isLostAnswer, ServiceError } from '../service-client/service-errors.ts';
import { createPlans } from '../work/planned.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Run, type RunEnd, type WorkerOptions } from '../work/worker.ts';
import { type Account, noteRefused, readAccount } from './account-store.ts';
import { clientOf } from './credential-source.ts';
import { FIRST_SUBSCRIPTION_ID, OLDEST_SECRETS_MS } from './subscription-secrets.ts';
import {
  clearPending,
  LONGEST_WAIT_MS,
  listDue,
  makeDue,
  markAbandoned,
  markPending,
  noteDone,
  noteFailed,
  noteRegistered,
  REGISTRATION,
  readDue,
  readSubscription,
  storeIssued,
} from './subscription-store.ts';

/*
 * From the webhook of an API key that is due, down to the statements around the call that replaces its secret.
 * Implements `Events`: subscriptions, and `Rules per endpoint`, 12-14: the old secret is invalid at once.
 */

/** Maximum number of webhooks that a process registers at the same time. */
const CONCURRENCY = 50;
const RETRY = { firstMs: 5_000, longestMs: 5 * 60_000, spread: 0.5 };
/** While it is unknown which secret is valid, no signature can be verified with certainty. */
const RETRY_IN_DOUBT = { ...RETRY, firstMs: 500, longestMs: 10_000 };
/**
 * The `Date` of a response is truncated to the second, so the previous secret may have signed until the end of
 * it.
 */
const CUT_OFF_MS = 999;

export interface RegistrationsOptions extends Base, WorkerOptions {
  readonly keyRing: KeyRing;
  /** Public address of the receiver without an id; undefined if webhooks are registered by hand. */
  readonly publicUrl: string | undefined;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /**
   * Called when an account has a new secret: `registered` with an address or to resolve a doubt, or `rotated` on
   * request. A failure is logged.
   */
  readonly onIssued: (accountId: string, how: 'registered' | 'rotated') => Promise<void>;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  /** Time between announcing the replacement of a secret and the call, so that every process knows of it. */
  readonly noticeMs?: number | undefined;
}

/** This process has no credential of the account. */
export class UnknownCredential extends Error {
  override readonly name = 'UnknownCredential';

  constructor() {
    super('this connector has no credential for the account');
  }
}

/** Another process took over during a replacement, which must be repeated. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('another process took over the registration of the webhook');
  }
}

/**
 * The webhooks of all API keys, and their secrets. Not those of grants: an OAuth app has its webhook where it is
 * registered. What these calls would change for an access token is not specified; it might be the customer's own
 * webhook. Each is registered at its own path. The key of the duty is the subscription. A registration is due when a
 * process starts or a credential changes, and at once while a secret is in doubt: marked as being replaced, but no
 * living process is replacing it. A failure stops nothing else: deliveries signed with the stored secret are still
 * accepted.
 */
export function createRegistrations(options: RegistrationsOptions) {
  const { database, keyRing, clock, logger, publicUrl, onIssued } = options;
  const closing = new AbortController();
  const dueAtOf = createPlans(clock, LONGEST_WAIT_MS);
  let rotating: Promise<unknown> = Promise.resolve();

  const isOurs = (account: Account | null): account is Account =>
    account?.kind === 'api_key' && account.hasCredential && options.mayUse(account);

  function registering(account: Account): RegisterOptions {
    const { subscriptionId } = account;
    // Without grants, so that even a mistake cannot make the call with an access token.
    const client = clientOf({ database, keyRing, clock }, account);
    const url = publicUrl === undefined ? null : webhookUrl(publicUrl, subscriptionId);
    return { ...options, client, subscriptionId, url };
  }

  async function announce(...issued: Parameters<typeof onIssued>): Promise<void> {
    await onIssued(...issued).catch((err: unknown) =>
      logger.warn({ err, accountId: issued[0] }, 'a new secret could not be announced'),
    );
  }

  async function run({ key: subscriptionId, lease, lost, stopping }: Run): Promise<RunEnd> {
    const due = await readDue(database, subscriptionId);
    if (due === null || due.plannedAt === null) return 'idle';
    if (dueAtOf(subscriptionId, due.plannedAt) > clock.now()) return 'idle';
    const account = await readAccount(database, due.accountId);
    if (!isOurs(account) || account.isRefused) return 'stopped';
    const wanted = registering(account);
    const signal = AbortSignal.any([lost, stopping]);
    try {
      const outcome = await registerWebhook(wanted, lease, signal);
      await noteDone(database, lease, subscriptionId, due.plannedAt);
      const { url } = wanted;
      if (url !== null) logger.info({ subscriptionId, outcome, url }, 'the webhook is registered');
      if (outcome === 'registered') await announce(account.id, 'registered');
    } catch (error) {
      if (signal.aborted) return 'stopped';
      await noteFailure(account, lease, error);
    }
    return 'idle';
  }

  async function noteFailure(account: Account, lease: Lease, err: unknown): Promise<void> {
    const { subscriptionId } = account;
    const { failures = 0, inDoubt = false } = (await readDue(database, subscriptionId)) ?? {};
    const waitMs = backOffMs(failures + 1, inDoubt ? RETRY_IN_DOUBT : RETRY, options.random());
    await noteFailed(database, lease, subscriptionId, clock.now() + waitMs);
    const errorCode = err instanceof ServiceError ? err.code : err instanceof Error ? err.name : 'unknown';
    logger.error(
      { err, subscriptionId, errorCode, attempts: failures + 1, delayMs: waitMs },
      'the webhook could not be registered',
    );
    if (errorCode === 'invalid_key') await noteRefused(database, account);
  }

  const worker = createWorker(options, {
    kind: REGISTRATION,
    concurrency: CONCURRENCY,
    async readDue(now, limit) {
      const found = await listDue(database, now, limit);
      return found.flatMap(({ id, plannedAt }) => (dueAtOf(id, plannedAt) <= now ? id : []));
    },
    async readDueAt(id) {
      const plannedAt = (await readDue(database, id))?.plannedAt ?? null;
      return plannedAt === null ? null : dueAtOf(id, plannedAt);
    },
    run,
  });

  async function rotate(accountId: string, compromised: boolean): Promise<Replaced | null> {
    const account = await readAccount(database, accountId);
    if (!isOurs(account)) throw new UnknownCredential();
    try {
      const replaced = await rotateSecret(registering(account), compromised, closing.signal);
      if (replaced !== null) await announce(accountId, 'rotated');
      return replaced;
    } catch (error) {
      worker.notify(account.subscriptionId);
      throw error;
    }
  }

  return {
    /** Starts registering what is due. Throws as `query` does. */
    start: worker.start,
    /**
     * Checks and registers the webhook of an API key, now and until it is in place. Resolves after one attempt.
     * Ignores all other accounts. Throws as `query` does.
     */
    async add(account: Account): Promise<void> {
      if (!isOurs(account)) return;
      await makeDue(database, account.subscriptionId, clock.now());
      await worker.runNow(account.subscriptionId);
    },
    /**
     * Rotates, see `rotateSecret`. If the outcome is unknown, the secret is replaced again at once, in the background.
     * Throws `UnknownCredential` if this process cannot make calls for the account.
     */
    rotate(accountId: string, compromised: boolean): Promise<Replaced | null> {
      const work = rotate(accountId, compromised);
      rotating = Promise.allSettled([rotating, work]);
      return work;
    },
    /** Registers everything that is due. Resolves when no attempt is in progress. */
    settle: worker.settle,
    async close(): Promise<void> {
      closing.abort();
      await Promise.all([worker.close(), rotating]);
    },
  };
}

/** The first subscription is served at the address itself, the others below it. */
export function webhookUrl(publicUrl: string, subscriptionId: string): string {
  if (subscriptionId === FIRST_SUBSCRIPTION_ID) return publicUrl;
  const url = new URL(publicUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${encodeURIComponent(subscriptionId)}`;
  return url.href;
}

/** One webhook. `url` is the public HTTPS address of the receiver; null if it was registered by hand and stays. */
export interface RegisterOptions
  extends Pick<RegistrationsOptions, 'database' | 'clock' | 'keyRing' | 'noticeMs'> {
  readonly presence: Presence;
  readonly client: ServiceClient;
  readonly subscriptionId: string;
  readonly url: string | null;
}

/**
 * Ensures that the service delivers to `url` and that the signing secret is stored. `PUT /webhook` invalidates
 * the secret even if the address stays the same. So it is only called if the address differs, no secret is
 * stored, or an earlier replacement was not finished, because the secret is unknown then. Throws a
 * `ServiceError`, `LeaseLost`, or what the database throws. `registered`: a new secret was issued.
 */
export async function registerWebhook(
  options: RegisterOptions,
  lease: Lease,
  signal: AbortSignal,
): Promise<'registered' | 'unchanged'> {
  const { database, clock, client, subscriptionId: id, url } = options;
  const stored = await readSubscription(database, id);
  // This process has the lease, so the process that set the mark no longer works on it.
  const isPending = stored !== undefined && stored.pendingAt !== null;
  if (url === null && !isPending) return 'unchanged';
  if (url !== null && !isPending && stored?.hasSecret === true) {
    const current = await client.getWebhook(signal);
    if (current.url === url && current.secretSet !== false) {
      await noteRegistered(database, lease, { id, url, now: clock.now() });
      return 'unchanged';
    }
  }
  await replaceSecret(options, lease, { url, compromised: false }, signal);
  return 'registered';
}

/**
 * Replaces the signing secret without losing a delivery: deliveries that are signed during the call wait for
 * its outcome, and those signed before are accepted for a while longer, unless the secret is `compromised`. Null
 * if another process is registering or rotating. Throws a `ServiceError`, `LeaseLost`, or what the database throws;
 * if it is unknown whether the rotation took effect, the next registration replaces the secret.
 */
export async function rotateSecret(
  options: RegisterOptions,
  compromised: boolean,
  signal?: AbortSignal,
): Promise<Replaced | null> {
  const held = await options.presence.hold(
    `${REGISTRATION}:${options.subscriptionId}`,
    (lease, leased) => replaceSecret(options, lease, { url: null, compromised }, leased),
    signal,
  );
  return held.held ? held.value : null;
}

/** A replaced secret. Times in epoch milliseconds of our clock. */
export interface Replaced {
  readonly at: number;
  /** Until then, deliveries that were signed before are accepted; null if they are not. */
  readonly previousAcceptedUntil: number | null;
}

/**
 * Marks the secret as being replaced, sets the address at the service or only rotates the secret (`url` null), and
 * stores the new secret. If it is `compromised`, the previous one is no longer accepted at all. The mark is committed
 * before the call: verifications that fail during the call wait for the new secret, and if this process dies,
 * the mark shows that the stored secret may be invalid. An existing mark means the same, so it is only removed
 * together with storing a new secret.
 */
async function replaceSecret(
  { database, clock, keyRing, client, subscriptionId, noticeMs = OLDEST_SECRETS_MS }: RegisterOptions,
  lease: Lease,
  { url, compromised }: Pick<RegisterOptions, 'url'> & { readonly compromised: boolean },
  signal: AbortSignal,
): Promise<Replaced> {
  const owner = randomUUID();
  const begun = clock.now();
  const mark = { subscriptionId, owner, now: begun, callAt: begun + noticeMs, compromised };
  const marked = await markPending(database, lease, mark);
  if (marked === undefined) throw new LeaseLost();
  // A mark that lies further ahead is of a clock that was wrong.
  const wait = marked.hasSecret ? Math.min(marked.callAt - clock.now(), noticeMs) : 0;
  let issued: IssuedSecret;
  try {
    if (wait > 0) await clock.sleep(wait, signal);
    issued = await (url === null ? client.rotateWebhook(signal) : client.putWebhook(url, signal));
  } catch (error) {
    // Neither this call nor an earlier one can have changed anything. In all other cases, the mark stays.
    if (!marked.found && !isLostAnswer(error)) await clearPending(database, subscriptionId, owner);
    throw error;
  }
  const now = clock.now();
  const isKept = marked.hasSecret && !marked.compromised && !compromised;
  const previousAcceptedUntil = isKept ? now + PREVIOUS_SECRET_ACCEPTED_MS : null;
  const stored = await storeIssued(database, lease, {
    subscriptionId,
    owner,
    sealed: await keyRing.seal(issued.secret, secretContext(subscriptionId)),
    previousMaxTimestamp: lastSignedBefore(issued, now, marked.found ? marked.callAt : undefined),
    previousAcceptUntil: previousAcceptedUntil,
    url,
    now,
  });
  if (stored) return { at: now, previousAcceptedUntil };
  // Another process took over during the call. It is unknown which of the two calls was the last.
  await markAbandoned(database, subscriptionId, now);
  throw new LeaseLost();
}

/**
 * The latest time at which the previous secret can have signed, on the service's clock: the time of the
 * response, or that of an earlier call that may have taken effect. The service's clock is known only to the
 * second; our clock decides within that second, unless it is clearly behind.
 */
function lastSignedBefore({ issuedAt }: IssuedSecret, now: number, foundCallAt = Infinity): number {
  const behind = issuedAt !== null && now < issuedAt ? issuedAt + CUT_OFF_MS - now : 0;
  const answered = issuedAt === null || behind > 0 ? now : Math.min(now, issuedAt + CUT_OFF_MS);
  return Math.min(answered, foundCallAt) + behind;
}
