import { and, desc, eq, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import { ConfigurationError, type ConfigurationProblem } from '../../runtime/config/configuration-error.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { Audit } from '../audit/audit.ts';
import { namedSettings } from '../db/schema.ts';

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

/** What the settings of this process contain for a subject, how to test it, and how to apply it. */
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
  /** Applies it for all processes, and returns the settings that differ from the previous ones. */
  readonly store: (tx: Queryable) => Promise<readonly string[]>;
}

/** Whether this process may work with its settings. */
export interface Admission {
  /** True once it may. It never becomes false again. */
  readonly isAdmitted: boolean;
  /** Resolves once it may. Rejects with a `ConfigurationError` if the service refuses the settings. */
  readonly admitted: Promise<void>;
  /**
   * Checks now and then every 10 s, and announces the settings of this process to the others. Throws what the
   * database throws, and a `ConfigurationError` if the service refuses the settings while this process is not
   * admitted.
   */
  checkNow(): Promise<void>;
  close(): Promise<void>;
}

export interface AdmissionOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
}

const EVERY_MS = 10_000;
/**
 * Settings that no process has announced for this long are used by none: each process announces its own every
 * 10 s.
 */
const SILENT_MS = 35_000;
const KEPT_MS = 90 * 24 * 3_600_000;
const RETRY = { firstMs: 1_000, longestMs: 30_000 };
/**
 * A process whose own settings were refused, and which works with those of others, tests its own again after
 * this time.
 */
const REFUSED_RETRY_MS = 5 * 60_000;

const ADMITTED: Admission = {
  isAdmitted: true,
  admitted: Promise.resolve(),
  checkNow: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * Decides whether the settings of this process are used, so that a mistake only affects the process that has
 * it. Settings that are already in use are not tested, so a fleet can start while the service is down. Other
 * settings are tested before they replace those in use. If they are refused, they replace nothing and this
 * process does not work; if the result is unknown, the test is repeated and the process waits.
 *
 * If the service accepts several values, all processes use the one that was applied last. A replaced value is
 * used again only if the service refuses its successor, or if no running process announces the successor any
 * more. So processes with the old and the new value of a rotation do not alternate, in whatever order they
 * start. Without a candidate, everything is admitted.
 */
export function createAdmission(options: AdmissionOptions, candidate: Candidate | undefined): Admission {
  return candidate === undefined ? ADMITTED : createTrial(options, candidate);
}

function createTrial({ database, clock, logger, audit }: AdmissionOptions, candidate: Candidate): Admission {
  const { subject, digest, setting: named } = candidate;
  const closing = new AbortController();
  const admitted = Promise.withResolvers<void>();
  admitted.promise.catch(() => undefined);
  let isAdmitted = false;
  let isFirstCheck = true;
  let refused: ConfigurationError | undefined;
  let failures = 0;
  let notBefore = Number.NEGATIVE_INFINITY;
  let warnedOfOther = false;

  function admit(): void {
    isAdmitted = true;
    failures = 0;
    admitted.resolve();
  }

  async function checkOnce(): Promise<void> {
    if (refused !== undefined || closing.signal.aborted) return;
    const now = clock.now();
    const all = await nameSettings(database, { subject, digest, now });
    const inUse = await candidate.inUse(database);
    const again = isFirstCheck && inUse?.refused === true;
    isFirstCheck = false;
    const isInUse = inUse !== null && equalSecrets(inUse.digest, digest);
    if (isInUse && !again) {
      await noteAccepted(database, subject, digest, now, true);
      return admit();
    }
    const own = all.find((each) => equalSecrets(each.digest, digest));
    const other = inUse === null ? undefined : all.find((each) => equalSecrets(each.digest, inUse.digest));
    const isOtherNamed = other !== undefined && now - other.namedAt < SILENT_MS;
    const wasReplaced = own !== undefined && own.acceptedAt !== null;
    if (inUse?.refused === false && wasReplaced && isOtherNamed) {
      if (!warnedOfOther) logger.warn({ setting: named }, OTHER_IS_USED);
      warnedOfOther = true;
      return admit();
    }
    if (clock.elapsed() >= notBefore) await decide(isInUse, inUse !== null);
  }

  async function decide(isInUse: boolean, isOneInUse: boolean): Promise<void> {
    const verdict = await candidate.attempt(closing.signal);
    if (closing.signal.aborted) return;
    if (verdict.kind === 'accepted') return await accept();
    const { setting } = verdict.problem;
    const problem = `${verdict.problem.problem} ${isOneInUse ? STAYS : NONE_STORED}`;
    failures += 1;
    if (verdict.kind === 'undecided' && !isInUse) {
      // A service can ask for a longer wait, never for a shorter one.
      const waitMs = Math.max(verdict.retryAfterMs ?? 0, backOffMs(failures, RETRY));
      notBefore = clock.elapsed() + waitMs;
      logger.warn({ setting, delayMs: waitMs }, `${setting} ${problem}`);
      return;
    }
    if (verdict.kind === 'refused') logger.error({ setting }, `${setting} ${problem}`);
    if (isInUse) return admit();
    if (isAdmitted) {
      notBefore = clock.elapsed() + REFUSED_RETRY_MS;
      return;
    }
    refused = new ConfigurationError([{ setting, problem }]);
    audit?.note('account.changed', { who: 'settings', what: setting, id: subject, result: 'refused' });
    admitted.reject(refused);
    throw refused;
  }

  async function accept(): Promise<void> {
    const changed = await database.transaction(async (tx) => {
      const settings = await candidate.store(tx);
      await noteAccepted(tx, subject, digest, clock.now(), false);
      return settings;
    });
    if (changed.length > 0) {
      audit?.note('account.changed', { who: 'settings', what: changed, id: subject, result: 'ok' });
    }
    logger.info({ setting: named }, 'the service has accepted the settings');
    warnedOfOther = false;
    admit();
  }

  function untilNext(): number | null {
    if (refused !== undefined) return null;
    const left = notBefore - clock.elapsed();
    return left > 0 ? Math.min(left, EVERY_MS) : EVERY_MS;
  }

  const checks = repeat({
    clock,
    everyMs: untilNext,
    run: checkOnce,
    onError(err) {
      if (!(err instanceof ConfigurationError))
        logger.warn({ err, setting: named }, 'the settings could not be tested; retrying soon');
    },
  });

  return {
    get isAdmitted() {
      return isAdmitted;
    },
    admitted: admitted.promise,
    checkNow() {
      checks.start();
      return checks.runNow();
    },
    async close() {
      closing.abort();
      await checks.stop();
    },
  };
}

const STAYS = 'The stored value remains in use.';
const NONE_STORED = 'No value is stored yet.';
const OTHER_IS_USED =
  'other processes have a newer value than these settings contain; this process uses it as well. ' +
  'Give every process the same settings';

/** Stores that a running process has these settings, and returns all that were announced for the subject. */
async function nameSettings(
  db: Queryable,
  { subject, digest, now }: { readonly subject: string; readonly digest: string; readonly now: number },
): Promise<(typeof namedSettings.$inferSelect)[]> {
  const n = namedSettings;
  await orm(db)
    .delete(namedSettings)
    .where(lt(n.namedAt, now - KEPT_MS));
  await orm(db)
    .insert(namedSettings)
    .values({ subject, digest, namedAt: now })
    .onConflictDoUpdate({
      target: [n.subject, n.digest],
      set: { namedAt: sql`greatest(${n.namedAt}, excluded.named_at)` },
    });
  return await orm(db).select().from(n).where(eq(n.subject, subject));
}

/** `once`: an existing time is kept. */
async function noteAccepted(
  db: Queryable,
  subject: string,
  digest: string,
  now: number,
  once: boolean,
): Promise<void> {
  const { subject: of, digest: named, acceptedAt } = namedSettings;
  await orm(db)
    .update(namedSettings)
    .set({ acceptedAt: now })
    .where(and(eq(of, subject), eq(named, digest), once ? isNull(acceptedAt) : undefined));
}

/** The digest that was applied last for a subject; null if none was. */
export async function readAccepted(db: Queryable, subject: string): Promise<string | null> {
  const { digest, acceptedAt } = namedSettings;
  const [row] = await orm(db)
    .select({ digest })
    .from(namedSettings)
    .where(and(eq(namedSettings.subject, subject), isNotNull(acceptedAt)))
    .orderBy(desc(acceptedAt), digest)
    .limit(1);
  return row?.digest ?? null;
}
