import { backOffMs } from '../../runtime/clock/back-off.ts';
import { ReauthRequired } from '../oauth/oauth-errors.ts';
import { isRefusal, isUnavailable, ServiceError } from '../service-client/service-errors.ts';

const WAIT = { firstMs: 15_000, longestMs: 5 * 60_000, spread: 0.5 };
/** Short while the service is unavailable, because polls detect that it is back, for sends as well. */
const WAIT_WHILE_UNAVAILABLE = { firstMs: 2_000, longestMs: 8_000, spread: 0.5 };

/** How long polling waits after a failure. */
export interface BackOff {
  readonly waitMs: number;
  /** True if the service requested the wait. It then applies to every poll. */
  readonly asked: boolean;
}

/**
 * The wait after the `failures`-th failure in a row: what the service requested; otherwise it doubles from 15 s
 * to 5 minutes, or from 2 s to 8 s while the service is unavailable. `random` (0 to 1) subtracts up to half of
 * it. [errors.client.without-retry-after]
 */
export function backOff(error: unknown, failures: number, random: number): BackOff {
  const own = backOffMs(failures, isUnavailable(error) ? WAIT_WHILE_UNAVAILABLE : WAIT, random);
  const asked = error instanceof ServiceError ? error.retryAfterMs : null;
  if (asked === null) return { waitMs: own, asked: false };
  // Slightly longer than requested, so that many processes do not return in the same instant.
  return { waitMs: Math.round(asked + Math.min(asked, 1_000) * random), asked: true };
}

/**
 * True if no call can succeed until the credential changes. [errors.client.never-retries-key]
 * [errors.client.branches-on-code]
 */
export function isRefusedCredential(error: unknown): boolean {
  return isRefusal(error, 'invalid_key') || error instanceof ReauthRequired;
}

/** Short and stable, for `GET /v1/sync`, metrics and logs. */
export function failureCode(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
