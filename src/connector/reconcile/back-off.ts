import { StalledWalk } from '../../patterns/reconcile-walk.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { PollState } from '../accounts/poll-state.ts';
import { ReauthRequired } from '../oauth/oauth-errors.ts';
import { isRefusal, isUnavailable, ServiceError } from '../service-client/service-errors.ts';

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
