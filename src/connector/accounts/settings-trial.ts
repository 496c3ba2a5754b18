import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ConfigurationError, type ConfigurationProblem } from '../../runtime/config/configuration-error.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { Audit } from '../audit/audit.ts';
import type { Base } from '../db/base.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import { FIRST_SUBSCRIPTION_ID } from './subscription-secrets.ts';
import { readSubscription } from './subscription-store.ts';

/** Why settings are not accepted. */
export interface Objection extends ConfigurationProblem {
  /** They are wrong: the service refuses them, or there is no service. False: there is no answer, or it fails. */
  readonly isFinal: boolean;
  readonly retryAfterMs?: number | null;
}

/** What the settings of this process contain for a subject, how to try it, and how to store it. */
export interface Candidate {
  /** An account of the settings, or the subscription of an OAuth app. */
  readonly subject: string;
  /** The names of the settings, for people. */
  readonly setting: string;
  /** SHA-256 over all values. */
  readonly digest: string;
  /** What all processes use now; null if nothing. `refused`: the service refuses it. Throws as `query` does. */
  readonly inUse: (db: Queryable) => Promise<{ readonly digest: string; readonly refused: boolean } | null>;
  /** One attempt at the service; null if it accepts them. Does not throw errors of the service. */
  readonly attempt: (signal: AbortSignal) => Promise<Objection | null>;
  /** Stores it for all processes, and returns the settings that differ from the previous ones. */
  readonly store: (tx: Queryable) => Promise<readonly string[]>;
}

/** Whether this process may work with its settings. */
export interface Trial {
  /** True once it may. It never becomes false again. */
  readonly isAccepted: boolean;
  /** True once it may; false if it was closed before. Rejects with a `ConfigurationError` if they are refused. */
  readonly accepted: Promise<boolean>;
  close(): Promise<void>;
}

export interface TrialOptions extends Base {
  readonly audit: Audit;
}

const RETRY = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Tries the settings of this process before they replace those in use. Settings that are in use are not tried,
 * so a process can start while the service is down, unless the service has refused them: they are tried once
 * more. Accepted settings are stored, and every process uses those that were stored last: two processes that start
 * with different ones may alternate. Refused settings replace nothing, and this throws a `ConfigurationError`. If the
 * service gives no answer, the process waits and they are tried again. Without a candidate, everything is accepted.
 */
export async function startTrial(options: TrialOptions, candidate: Candidate | undefined): Promise<Trial> {
  const { clock, logger } = options;
  const closing = new AbortController();
  let failures = 0;

  /** The wait until the next try, or null if the settings are accepted. */
  async function test(): Promise<number | null> {
    const doubt = candidate === undefined ? null : await tryOnce(options, candidate, closing.signal);
    if (doubt === null) return null;
    failures += 1;
    // A service can ask for a longer wait, never for a shorter one.
    const delayMs = Math.max(doubt.retryAfterMs ?? 0, backOffMs(failures, RETRY));
    const { setting, problem } = doubt;
    logger.warn({ setting, delayMs }, `${setting} ${problem}`);
    return delayMs;
  }

  async function repeat(firstWaitMs: number): Promise<boolean> {
    for (let waitMs: number | null = firstWaitMs; waitMs !== null; ) {
      await clock.sleep(waitMs, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return false;
      waitMs = await test().catch((err: unknown) => {
        if (err instanceof ConfigurationError) throw err;
        logger.warn({ err, setting: candidate?.setting }, 'the settings could not be tested; retrying soon');
        return RETRY.longestMs;
      });
    }
    isAccepted = true;
    return true;
  }

  const waitMs = await test();
  let isAccepted = waitMs === null;
  const accepted = waitMs === null ? Promise.resolve(true) : repeat(waitMs);
  accepted.catch(() => undefined);
  return {
    get isAccepted() {
      return isAccepted;
    },
    accepted,
    async close() {
      closing.abort();
      await accepted.catch(() => undefined);
    },
  };
}

/** One try; null if the process may work, and otherwise why it is unknown whether it will. */
async function tryOnce(
  { database, logger, audit }: TrialOptions,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<Objection | null> {
  const { subject, digest, setting: named } = candidate;
  const inUse = await candidate.inUse(database);
  const isInUse = inUse !== null && equalSecrets(inUse.digest, digest);
  if (isInUse && !inUse.refused) return null;
  const objection = await candidate.attempt(signal);
  if (objection === null) {
    const what = await database.transaction(candidate.store);
    if (what.length > 0) audit.note('account.changed', { who: 'settings', what, id: subject, result: 'ok' });
    logger.info({ setting: named }, 'the service has accepted the settings');
    return null;
  }
  const { setting, isFinal } = objection;
  const stays = inUse === null ? 'No value is stored yet.' : 'The stored value remains in use.';
  const problem = `${objection.problem} ${stays}`;
  if (isFinal) logger.error({ setting }, `${setting} ${problem}`);
  // They replace nothing, and the process can do everything else.
  if (isInUse) return null;
  if (!isFinal) return { ...objection, problem };
  audit.note('account.changed', { who: 'settings', what: setting, id: subject, result: 'refused' });
  throw new ConfigurationError([{ setting, problem }]);
}

/**
 * What a failed `GET /connections` shows about settings: the key is refused, there is no service at the address, or
 * nothing. Throws an error that is not a failure of the call.
 */
export function judgeAnswer(error: unknown, baseUrl: string): Objection {
  if (!(error instanceof ServiceError)) throw error;
  const { status, code, retryAfterMs } = error;
  const { host } = new URL(baseUrl);
  // No service answered, or it fails at the moment.
  const isPassing =
    status === null ? code !== 'unreadable_answer' : status === 408 || status === 429 || status >= 500;
  if (isPassing) {
    const answer = status === null ? `does not answer (${code})` : `answers with ${status} ${code}`;
    const problem = `is not used until the service at ${host} has accepted it. It ${answer}; retrying.`;
    return { setting: 'SERVICE_BASE_URL or SERVICE_API_KEY', problem, isFinal: false, retryAfterMs };
  }
  const isKey = error instanceof ServiceRefusal && error.hasCode && (status === 401 || status === 403);
  if (!isKey) return noServiceAt(baseUrl, status);
  const problem = `is refused by ${host} (${status} ${code}): ${KEY_ADVICE[code] ?? KEY_ADVICE.invalid_key}`;
  return { setting: 'SERVICE_API_KEY', problem, isFinal: true };
}

/** Another server answers at this address. */
export function noServiceAt(baseUrl: string, status: number | null): Objection {
  const problem =
    `is not the address of a service: GET ${baseUrl}/connections was answered with ${status ?? 'something else'}. ` +
    `It must be the complete base address, including /api/v1.`;
  return { setting: 'SERVICE_BASE_URL', problem, isFinal: true };
}

const KEY_ADVICE: Readonly<Record<string, string>> & { readonly invalid_key: string } = {
  ip_not_allowed:
    'the address of this machine is not on the allowlist of the key. Add it in the developer portal, or use another key.',
  insufficient_scope:
    'the key lacks the scope messaging.read. Add the scope in the developer portal, or use another key.',
  invalid_key: 'it is mistyped, unknown or revoked. Use a valid key.',
};

const LOOK_EVERY_MS = 250;

/**
 * Whether a proxy may send deliveries to this process: the service has accepted the settings, and some process has
 * registered the webhook of the settings' account if this connector `registers` it, so that deliveries can be
 * verified. A service that becomes unavailable later does not change that.
 */
export function createReadiness(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  trials: readonly Trial[],
  registers: boolean,
) {
  const closing = new AbortController();
  let hasSecret = !registers;

  /** Throws what the database throws. */
  async function isReady(): Promise<boolean> {
    if (!trials.every(({ isAccepted }) => isAccepted)) return false;
    // It remains registered: a rotation only replaces the secret.
    hasSecret ||= (await readSubscription(database, FIRST_SUBSCRIPTION_ID))?.hasSecret === true;
    return hasSecret;
  }

  async function untilAccepted(): Promise<boolean> {
    return (await Promise.all(trials.map(({ accepted }) => accepted))).every(Boolean);
  }

  async function untilReady(): Promise<boolean> {
    if (!(await untilAccepted())) return false;
    // Another process may have stored the secret, and the database may be unavailable.
    while (!(await isReady().catch(() => false))) {
      await clock.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return false;
    }
    return true;
  }

  return { isReady, untilAccepted, untilReady, close: () => closing.abort() };
}
