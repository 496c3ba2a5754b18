import { StalledWalk } from '../../patterns/reconcile-walk.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { PollOutcome } from './account-poller.ts';
import { failureCode, STALLED } from './back-off.ts';

/** A caller is waiting: after this time it is answered that the poll continues. */
const DEADLINE_MS = 120_000;
const BUSY_WAIT_MS = 200;
/** The wait before a poll that follows a good one because gaps are left. */
const UNCLOSED = { firstMs: 200, longestMs: 10_000 };
/** Longest wait requested by the service that is waited for within the call. */
const LONGEST_WAIT_MS = 10_000;
const RETRY = { firstMs: 500, longestMs: 10_000 };
const MAX_FAILURES = 3;

/** Result of a poll on demand. */
export type SyncOutcome =
  | { readonly kind: 'closed' | 'unfinished' | 'idle' | 'stalled' }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'refused' | 'unreachable'; readonly code: string };

export interface SyncNowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly poll: (signal: AbortSignal) => Promise<PollOutcome>;
}

/**
 * Polls until no gap is left. A poll that was already in progress may have read the newest page before the
 * request, so it does not count. Temporary failures are retried a few times.
 */
export async function syncNow({ clock, signal, poll }: SyncNowOptions): Promise<SyncOutcome> {
  const timeUp = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => timeUp.abort());
  const limited = AbortSignal.any([signal, timeUp.signal]);
  let polls = 0;
  try {
    for (;;) {
      const outcome = await poll(limited);
      if (outcome.kind === 'failed' || outcome.kind === 'done') polls += 1;
      const verdict = judge(outcome, polls, clock.now());
      if (typeof verdict !== 'number') return verdict;
      await clock.sleep(verdict, limited);
    }
  } catch (error) {
    if (limited.aborted) return { kind: 'unfinished' };
    throw error;
  } finally {
    cancel();
  }
}

/** The answer, or how many milliseconds to wait before polling again. `polls` have ended within the call. */
function judge(outcome: PollOutcome, polls: number, now: number): SyncOutcome | number {
  switch (outcome.kind) {
    case 'done':
      return outcome.cycle.closed ? { kind: 'closed' } : backOffMs(polls, UNCLOSED);
    case 'busy':
    case 'early':
    case 'stopped':
      return BUSY_WAIT_MS;
    case 'idle':
      return { kind: 'idle' };
    case 'refused':
      return { kind: 'refused', code: outcome.code };
    case 'waiting':
      if (outcome.errorCode === STALLED) return { kind: 'stalled' };
      return waitUntil(outcome.retryAt - now);
    case 'failed':
      return judgeFailure(outcome.error, outcome.asked ? outcome.retryAt - now : null, outcome.failures);
  }
}

function waitUntil(ms: number): SyncOutcome | number {
  return ms > LONGEST_WAIT_MS ? { kind: 'rate_limited', retryAfterMs: ms } : Math.max(ms, 0);
}

function judgeFailure(error: unknown, askedMs: number | null, failures: number): SyncOutcome | number {
  if (askedMs !== null) return waitUntil(askedMs);
  if (error instanceof StalledWalk) return { kind: 'stalled' };
  if (!(error instanceof ServiceError)) throw error;
  const passing = !(error instanceof ServiceRefusal) || error.mayHaveActed || error.status === 429;
  if (passing && failures < MAX_FAILURES) return backOffMs(failures, RETRY);
  const code = failureCode(error);
  if (error instanceof ServiceRefusal && error.status === 429) {
    return { kind: 'rate_limited', retryAfterMs: LONGEST_WAIT_MS };
  }
  return { kind: error instanceof ServiceRefusal && error.hasCode ? 'refused' : 'unreachable', code };
}
