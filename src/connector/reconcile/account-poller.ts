import { StalledWalk } from '../../patterns/reconcile-walk.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import { type Account, hostOf, readPolledAccount } from '../accounts/account-store.ts';
import type { GrantSources } from '../accounts/credential-source.ts';
import { FRESH, noteFailed, noteStarted, type PlannedPoll, type PollState } from '../accounts/poll-state.ts';
import { refreshQuota } from '../accounts/quota.ts';
import type { Base } from '../db/base.ts';
import type { Lease } from '../db/lease.ts';
import { ReauthRequired } from '../oauth/oauth-errors.ts';
import { isRefusal, isUnavailable, ServiceError } from '../service-client/service-errors.ts';
import type { Presence } from '../work/presence.ts';
import { MAX_IDLE_PAGES, MAX_IDLE_PAGES_STALLED, type PageBudget, PollSuperseded } from './poll-context.ts';
import { type PolledCycle, runPollCycle } from './poll-cycle.ts';
import type { PollMetrics } from './poll-metrics.ts';
import type { PollMemory } from './quiet-polls.ts';

const WAIT = { firstMs: 15_000, longestMs: 5 * 60_000, spread: 0.5 };
/** Short while the service is unavailable, because polls detect that it is back, for sends as well. */
const WAIT_WHILE_UNAVAILABLE = { firstMs: 2_000, longestMs: 8_000, spread: 0.25 };
/** Somebody has to repair the list, and each poll of it costs several requests. */
const WAIT_WHILE_STALLED = { ...WAIT, firstMs: 30_000 };

/** How long polling waits after a failure. */
export interface BackOff {
  readonly waitMs: number;
  /** True if the service requested the wait. It then applies to every poll. */
  readonly asked: boolean;
}

export interface PollFailure {
  readonly error: unknown;
  /** Failures in a row, including this one. */
  readonly failures: number;
  /** The service had answered an earlier call of the same poll. */
  readonly answered: boolean;
}

/**
 * The wait after a failure. It doubles from 15 s to 5 minutes; from 30 s if the list of messages does not end; from
 * 2 s to 8 s while the service answers nothing.
 * `random` (0 to 1) subtracts up to half of it. The service can request more than the first wait, never less.
 * So a service that answers nonsense receives at most 12 requests a minute for each account.
 * [errors.client.without-retry-after]
 */
export function backOff({ error, failures, answered }: PollFailure, random: number): BackOff {
  const asked = error instanceof ServiceError ? error.retryAfterMs : null;
  if (asked !== null) {
    // Slightly longer than requested, so that many processes do not return in the same instant.
    return { waitMs: Math.round(Math.max(asked, WAIT.firstMs) + 1_000 * random), asked: true };
  }
  const isAway = isUnavailable(error) && !answered;
  const wait = error instanceof StalledWalk ? WAIT_WHILE_STALLED : isAway ? WAIT_WHILE_UNAVAILABLE : WAIT;
  return { waitMs: backOffMs(failures, wait, random), asked: false };
}

/** A few failures in a row may be chance; only then is somebody who asks again and again slowed down. */
const FREE_FAILURES = 2;
const WAIT_ON_DEMAND = { firstMs: 5_000, longestMs: 10_000 };

/**
 * The earliest time at which a poll on demand may ignore the back-off, epoch ms: people, and programs that
 * repeat a call, must not become a loop without waits.
 */
export function earliestOnDemand(
  state: Pick<PollState, 'askedToWait' | 'failures' | 'lastErrorAt' | 'lastErrorCode'>,
): number {
  const { askedToWait, failures, lastErrorAt, lastErrorCode } = state;
  if (askedToWait) return Number.POSITIVE_INFINITY;
  if (lastErrorCode === STALLED) return (lastErrorAt ?? 0) + WAIT_WHILE_STALLED.firstMs;
  if (failures <= FREE_FAILURES) return 0;
  return (lastErrorAt ?? 0) + backOffMs(failures - FREE_FAILURES, WAIT_ON_DEMAND);
}

/**
 * True if no call can succeed until the credential changes. [errors.client.never-retries-key]
 * [errors.client.branches-on-code]
 */
export function isRefusedCredential(error: unknown): boolean {
  return isRefusal(error, 'invalid_key') || error instanceof ReauthRequired;
}

/** The code of a poll whose list cannot be read further. */
export const STALLED = 'stalled_list';

/** Short and stable, for `GET /v1/sync`, metrics and logs. */
export function failureCode(error: unknown): string {
  if (error instanceof StalledWalk) return STALLED;
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

export interface AccountPollerOptions extends Base {
  readonly keyRing: KeyRing;
  readonly metrics: PollMetrics;
  readonly presence: Presence;
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
  readonly grants?: GrantSources | undefined;
  /** Called after each write that adds to the feed. */
  readonly onCommitted: () => void;
  /** Called when the service answers the polls of an account again. */
  readonly onServiceBack: (accountId: string) => void;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** The age in days of the oldest messages that are stored of a new connection. Default: any age. */
  readonly historyDays?: number | undefined;
}

/**
 * Result of an attempt to poll:
 * - `done`: the poll succeeded; `cycle` says how far it came.
 * - `failed`: the error is stored, and polling waits until `retryAt`.
 * - `early`: the account is not due.
 * - `busy`: another poll of this account is in progress.
 * - `waiting`: polling waits until `retryAt` because of an earlier failure; `asked` if the service requested
 *   the wait.
 * - `refused`: the service refuses this credential permanently, or the grant has ended.
 * - `idle`: the account has no credential, is not for this process, or no longer exists.
 * - `stopped`: another process took over, or this one is stopping.
 */
export type PollOutcome =
  | { readonly kind: 'done'; readonly cycle: PolledCycle }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly retryAt: number;
      readonly asked: boolean;
      /** Failures in a row, this one included. */
      readonly failures: number;
    }
  | {
      readonly kind: 'waiting';
      readonly retryAt: number;
      readonly asked: boolean;
      readonly errorCode: string;
    }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'busy' | 'early' | 'idle' | 'stopped' };

export interface PollRequest {
  readonly accountId: string;
  readonly budget: PageBudget;
  /** Shared by the polls of the process: each takes a turn while its walk reads more than the newest page. */
  readonly longWalks: Turns;
  readonly memory: PollMemory;
  /**
   * Plans the next poll: called with the planned time, returns the next one if this poll succeeds, epoch ms, or null if
   * the account is not due. Absent: the due time stays the same.
   */
  readonly plan?: (dueAt: number) => number | null;
  /**
   * Somebody waits for it: it need not be due, sweeps everything, and is made soon even during a back-off of our own. A
   * wait that the service requested is always respected. False: it must be due.
   */
  readonly onDemand: boolean;
  readonly signal: AbortSignal;
}

/** The clocks of two processes may differ by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/** The reason not to poll now, if any. */
function findObstacle(
  account: Account,
  state: PollState,
  request: PollRequest,
  now: number,
): PollOutcome | null {
  if (account.awaitsConsent) return { kind: 'refused', code: 'reauth_required' };
  if (state.refusedCredentialVersion === account.credentialVersion)
    return { kind: 'refused', code: 'invalid_key' };
  // A failure in the future was noted by a clock that was wrong, as was its wait.
  const notBefore = (state.lastErrorAt ?? 0) > now + CLOCKS_DIFFER_MS ? now : (state.notBefore ?? now);
  const retryAt = Math.min(notBefore, request.onDemand ? earliestOnDemand(state) : Infinity);
  if (retryAt <= now) return null;
  return { kind: 'waiting', retryAt, asked: state.askedToWait, errorCode: state.lastErrorCode ?? 'unknown' };
}

/** Polls an account once, if it may be polled now. Rejects only if the state cannot be read or written. */
export async function pollAccount(
  options: AccountPollerOptions,
  request: PollRequest,
  lease: Lease,
): Promise<PollOutcome> {
  const { database, clock, metrics } = options;
  const { accountId, budget, longWalks, memory, plan, onDemand, signal } = request;
  const found = await readPolledAccount(database, accountId);
  if (found === null || !found.account.hasCredential || !options.mayUse(found.account))
    return { kind: 'idle' };
  const { account } = found;
  const state = found.state ?? FRESH;
  const planned = state.dueAt === null ? null : plan?.(state.dueAt);
  if (plan !== undefined && planned === null && !onDemand) return { kind: 'early' };
  const obstacle = findObstacle(account, state, request, clock.now());
  if (obstacle !== null) return obstacle;
  const begun = clock.elapsed();
  const startedAt = clock.now();
  let answered = false;
  try {
    const client = memory.clientOf(options, account);
    const context = {
      ...options,
      client,
      lease,
      accountId,
      registeredAt: account.registeredAt,
      historyDays: options.historyDays ?? null,
      historyFrom: new Map<string, number>(),
      budget,
      enterLongWalk: () => longWalks.enter({ group: hostOf(account) }),
      failures: state.failures,
      maxIdlePages: state.lastErrorCode === STALLED ? MAX_IDLE_PAGES_STALLED : MAX_IDLE_PAGES,
      signal,
      onAnswer: () => {
        answered = true;
        // Sends that wait for the service must not also wait for a long poll.
        if (state.failures > 0) options.onServiceBack(accountId);
      },
    };
    const next = (behind: boolean): PlannedPoll | undefined =>
      planned == null || state.dueAt === null
        ? undefined
        : { dueAt: state.dueAt, at: behind ? clock.now() : planned };
    const cycle = await runPollCycle(context, state, { fullSweep: onDemand, settled: memory.settled, next });
    await refreshQuota(options, client, account, signal);
    metrics.backOff.set({ account: accountId }, 0);
    metrics.lastGood.set({ account: accountId }, clock.now() / 1_000);
    metrics.seconds.observe({ outcome: 'good' }, (clock.elapsed() - begun) / 1_000);
    return { kind: 'done', cycle };
  } catch (error) {
    if (error instanceof PollSuperseded || signal.aborted) return { kind: 'stopped' };
    metrics.seconds.observe({ outcome: 'failed' }, (clock.elapsed() - begun) / 1_000);
    await noteStarted(database, accountId, startedAt);
    const failure = { error, failures: state.failures + 1, answered };
    return await noteFailure(options, account, lease, failure);
  }
}

async function noteFailure(
  options: AccountPollerOptions,
  account: Account,
  lease: Lease,
  failure: PollFailure,
): Promise<PollOutcome> {
  const { database, clock, logger, metrics, random } = options;
  const { error, failures } = failure;
  const { waitMs, asked } = backOff(failure, random());
  const now = clock.now();
  const refused = isRefusedCredential(error);
  if (failures > 1 && error instanceof ServiceError && !isUnavailable(error))
    options.onServiceBack(account.id);
  const errorCode = failureCode(error);
  if (errorCode === STALLED) metrics.stalls.inc();
  logger.warn(
    { err: error, accountId: account.id, errorCode, attempts: failures, delayMs: waitMs },
    'a poll failed',
  );
  metrics.backOff.set({ account: account.id }, waitMs / 1_000);
  await noteFailed(database, lease, account.id, {
    now,
    failures,
    code: errorCode,
    notBefore: now + waitMs,
    askedToWait: asked,
    refusedCredentialVersion: refused ? account.credentialVersion : null,
  });
  return refused
    ? { kind: 'refused', code: errorCode }
    : { kind: 'failed', error, retryAt: now + waitMs, asked, failures };
}
