import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Lease } from '../db/lease.ts';
import { FIRST_SUBSCRIPTION_ID } from '../inbox/subscription-secrets.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { createWorker, type Run, type RunEnd, type WorkerOptions } from '../work/worker.ts';
import { type Account, noteRefused, readAccount } from './account-store.ts';
import { clientOf } from './credential-source.ts';
import { type RegisterOptions, registerWebhook, rotateSecret } from './register-webhook.ts';
import type { Replaced } from './replace-secret.ts';
import {
  listDue,
  makeDue,
  noteDone,
  noteFailed,
  REGISTRATION,
  readDue,
  registrationDueAt,
} from './subscription-store.ts';

/** Maximum number of webhooks that a process registers at the same time. */
const CONCURRENCY = 50;
const RETRY = { firstMs: 5_000, longestMs: 5 * 60_000, spread: 0.5 };
/** While it is unknown which secret is valid, deliveries are refused. */
const RETRY_IN_DOUBT = { ...RETRY, longestMs: 10_000 };

/** `registered`: with an address, or to resolve a doubt. `rotated`: on request. */
export type SecretIssue = 'registered' | 'rotated';

export interface RegistrationsOptions extends WorkerOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  /** Public address of the receiver without an id; null if webhooks are registered by hand. */
  readonly publicUrl: string | null;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  /** Called when an account has a new secret. A failure is logged. */
  readonly onIssued: (accountId: string, how: SecretIssue) => Promise<void>;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  /** Time between announcing the replacement of a secret and the call. */
  readonly noticeMs?: number | undefined;
}

/**
 * The webhooks of all API keys, and their secrets. Not those of grants: an OAuth app has its webhook where it
 * is registered. What these calls would change for an access token is not specified; it might be the customer's
 * own webhook. Implements `Events`: subscriptions.
 */
export interface Registrations {
  /** Starts registering what is due. Throws as `query` does. */
  start(): Promise<void>;
  /**
   * Checks and registers the webhook of an API key, now and until it is in place. Resolves after one attempt.
   * Ignores all other accounts. Throws as `query` does.
   */
  add(account: Account): Promise<void>;
  /**
   * Rotates, see `rotateSecret`. If the outcome is unknown, it is resolved in the background. Throws
   * `UnknownCredential` if this process cannot make calls for the account.
   */
  rotate(accountId: string, compromised: boolean): Promise<Replaced | null>;
  /** Registers everything that is due. Resolves when no attempt is in progress. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** This process has no credential of the account. */
export class UnknownCredential extends Error {
  override readonly name = 'UnknownCredential';

  constructor() {
    super('this connector has no credential for the account');
  }
}

/**
 * Registers the webhook of each API key at its own path. The key of the duty is the subscription. A
 * registration is due when a process starts or a credential changes, and at once while a secret is in doubt:
 * marked as being replaced, but no living process is replacing it. A failure stops nothing else: deliveries
 * signed with the stored secret are still accepted.
 */
export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { database, keyRing, clock, logger, presence, publicUrl, onIssued, noticeMs } = options;
  const closing = new AbortController();
  let rotating: Promise<unknown> = Promise.resolve();

  const isOurs = (account: Account | null): account is Account =>
    account?.kind === 'api_key' && account.hasCredential && options.mayUse(account);

  function registerOptions(account: Account): RegisterOptions {
    const { subscriptionId } = account;
    return {
      keeper: { database, clock, logger, presence },
      keyRing,
      // Without grants, so that even a mistake cannot make the call with an access token.
      client: clientOf({ database, keyRing, clock }, account),
      subscriptionId,
      url: publicUrl === null ? null : webhookUrl(publicUrl, subscriptionId),
      noticeMs,
    };
  }

  async function announce(accountId: string, how: SecretIssue): Promise<void> {
    await onIssued(accountId, how).catch((err: unknown) =>
      logger.warn({ err, accountId }, 'a new secret could not be announced'),
    );
  }

  async function run({ key: subscriptionId, lease, lost, stopping }: Run): Promise<RunEnd> {
    const due = await readDue(database, subscriptionId);
    if (due === null || due.dueAt === null) return 'idle';
    if (registrationDueAt(due.dueAt, clock.now()) > clock.now()) return 'idle';
    const account = await readAccount(database, due.accountId);
    if (!isOurs(account) || account.isRefused) return 'stopped';
    const registering = registerOptions(account);
    const signal = AbortSignal.any([lost, stopping]);
    try {
      const outcome = await registerWebhook(registering, lease, signal);
      await noteDone(database, lease, subscriptionId, due.dueAt);
      const { url } = registering;
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
    readDue: (now, limit) => listDue(database, now, limit),
    readDueAt: async (id) => {
      const { dueAt = null } = (await readDue(database, id)) ?? {};
      return dueAt === null ? null : registrationDueAt(dueAt, clock.now());
    },
    run,
  });

  async function rotate(accountId: string, compromised: boolean): Promise<Replaced | null> {
    const account = await readAccount(database, accountId);
    if (!isOurs(account)) throw new UnknownCredential();
    try {
      const replaced = await rotateSecret(registerOptions(account), compromised, closing.signal);
      if (replaced !== null) await announce(accountId, 'rotated');
      return replaced;
    } catch (error) {
      worker.notify(account.subscriptionId);
      throw error;
    }
  }

  return {
    start: worker.start,
    async add(account) {
      if (!isOurs(account)) return;
      await makeDue(database, account.subscriptionId, clock.now());
      await worker.runNow(account.subscriptionId);
    },
    rotate(accountId, compromised) {
      const work = rotate(accountId, compromised);
      rotating = Promise.allSettled([rotating, work]);
      return work;
    },
    settle: worker.settle,
    async close() {
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
