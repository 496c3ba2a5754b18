import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ConfigurationError, type ConfigurationProblem } from '../../runtime/config/configuration-error.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { Audit } from '../audit/audit.ts';

/** Result of testing settings with a call. */
export type Verdict =
  | { readonly kind: 'accepted' }
  /** They are wrong: the service refuses them, or there is no service. */
  | { readonly kind: 'refused'; readonly problem: ConfigurationProblem }
  /** Unknown: there is no answer, or the service fails. */
  | {
      readonly kind: 'undecided';
      readonly problem: ConfigurationProblem;
      readonly retryAfterMs: number | null;
    };

/** What the settings of this process contain for a subject, how to test it, and how to store it. */
export interface Candidate {
  /** An account of the settings, or the subscription of an OAuth app. */
  readonly subject: string;
  /** The names of the settings, for people. */
  readonly setting: string;
  /** SHA-256 over all values. */
  readonly digest: string;
  /** What all processes use now; null if nothing. `refused`: the service refuses it. Throws as `query` does. */
  readonly inUse: (db: Queryable) => Promise<{ readonly digest: string; readonly refused: boolean } | null>;
  /** One attempt at the service. Does not throw errors of the service. */
  readonly attempt: (signal: AbortSignal) => Promise<Verdict>;
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

export interface TrialOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Audit;
}

const RETRY = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Tests the settings of this process before they replace those in use. Settings that are in use are not
 * tested, so a process can start while the service is down, unless the service has refused them: they are
 * tried once more. Accepted settings are stored, and every process uses those that were stored last. Refused
 * settings replace nothing, and this throws a `ConfigurationError`. If the service gives no answer, the test
 * is repeated and the process waits. Without a candidate, everything is accepted.
 */
export async function startTrial(options: TrialOptions, candidate: Candidate | undefined): Promise<Trial> {
  const { clock, logger } = options;
  const closing = new AbortController();
  let failures = 0;

  /** The wait until the next test, or null if the settings are accepted. */
  async function test(): Promise<number | null> {
    const verdict = candidate === undefined ? null : await testOnce(options, candidate, closing.signal);
    if (verdict === null) return null;
    failures += 1;
    // A service can ask for a longer wait, never for a shorter one.
    const delayMs = Math.max(verdict.retryAfterMs ?? 0, backOffMs(failures, RETRY));
    const { setting, problem } = verdict.problem;
    logger.warn({ setting, delayMs }, `${setting} ${problem}`);
    return delayMs;
  }

  async function repeat(firstWaitMs: number): Promise<boolean> {
    let waitMs: number | null = firstWaitMs;
    while (waitMs !== null) {
      await clock.sleep(waitMs, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return false;
      waitMs = await test().catch((err: unknown) => {
        if (err instanceof ConfigurationError) throw err;
        logger.warn({ err, setting: candidate?.setting }, 'the settings could not be tested; retrying soon');
        return RETRY.longestMs;
      });
    }
    return true;
  }

  const waitMs = await test();
  let isAccepted = waitMs === null;
  const accepted =
    waitMs === null
      ? Promise.resolve(true)
      : repeat(waitMs).then((result) => {
          isAccepted = result;
          return result;
        });
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

/** One test; null if the settings are accepted, and otherwise it is unknown whether they will be. */
async function testOnce(
  { database, logger, audit }: TrialOptions,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<Extract<Verdict, { kind: 'undecided' }> | null> {
  const { subject, digest, setting: named } = candidate;
  const inUse = await candidate.inUse(database);
  const isInUse = inUse !== null && equalSecrets(inUse.digest, digest);
  if (isInUse && !inUse.refused) return null;
  const verdict = await candidate.attempt(signal);
  if (verdict.kind === 'accepted') {
    const what = await database.transaction(candidate.store);
    if (what.length > 0) audit.note('account.changed', { who: 'settings', what, id: subject, result: 'ok' });
    logger.info({ setting: named }, 'the service has accepted the settings');
    return null;
  }
  const { setting } = verdict.problem;
  const problem = `${verdict.problem.problem} ${inUse === null ? NONE_STORED : STAYS}`;
  if (verdict.kind === 'refused') logger.error({ setting }, `${setting} ${problem}`);
  // They replace nothing, and the process can do everything else.
  if (isInUse) return null;
  if (verdict.kind === 'undecided') return { ...verdict, problem: { setting, problem } };
  audit.note('account.changed', { who: 'settings', what: setting, id: subject, result: 'refused' });
  throw new ConfigurationError([{ setting, problem }]);
}

const STAYS = 'The stored value remains in use.';
const NONE_STORED = 'No value is stored yet.';
