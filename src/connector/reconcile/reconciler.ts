import { StalledWalk } from '../../patterns/reconcile-walk.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import { Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { type Account, hostOf, readAccounts } from '../accounts/account-store.ts';
import {
  askForPoll,
  beginPolls,
  type PlannedPoll,
  POLL,
  pollNextAt,
  readDueAccounts,
  readPollState,
} from '../accounts/poll-state.ts';
import type { Lease } from '../db/lease.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import { createPlans } from '../work/planned.ts';
import { createWorker, type Run, type RunEnd } from '../work/worker.ts';
import {
  type AccountPollerOptions,
  failureCode,
  type PollOutcome,
  type PollRequest,
  pollAccount,
  STALLED,
} from './account-poller.ts';
import type { PageBudget } from './poll-context.ts';
import { createPollMemory } from './quiet-polls.ts';

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

/** The answer, or how many milliseconds to wait before polling again. `polls` have ended within the call. */
function judge(outcome: PollOutcome, polls: number, now: number): SyncOutcome | number {
  switch (outcome.kind) {
    case 'done':
      if (outcome.cycle.closed) return { kind: 'closed' };
      return outcome.cycle.behind ? 0 : backOffMs(polls, UNCLOSED);
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

/** Each period varies by up to this fraction, so that accounts and processes spread out. */
const JITTER = 0.1;
/** A poll that is this late was due together with many others, so the next one is due at any time within a period. */
const LATE_MS = 5_000;
/** A poll mostly waits for the service and needs little memory until its walk reads on. */
const CONCURRENCY = 512;
/** Walks that read on keep up to `READ_AHEAD` pages in memory each. */
const LONG_WALKS = 32;

/**
 * About ten seconds, at 0.1 s per page. Then other accounts of the process get a turn; the poll continues at
 * once after them.
 */
const BUDGET: PageBudget = { coverage: 100, coverageMs: 10_000, visibility: 40, sweep: 40 };

/** Events arrive in bursts; one poll serves all events within a second. */
const EVENT_DELAY_MS = 1_000;
export interface ReconcilerOptions extends AccountPollerOptions {
  readonly notifier: Notifier;
  readonly intervalMs: number;
}

export type Reconciler = ReturnType<typeof createReconciler>;

/** Polls every account once per period, in any of the processes. The key of the duty is the account. */
export function createReconciler(options: ReconcilerOptions) {
  const { database, logger, clock, random, intervalMs } = options;
  /** No poll is planned further ahead. Another process may have a longer period. */
  const longestWaitMs = 2 * intervalMs;
  const closing = new AbortController();
  /** The accounts that this process polls, each with the host of its service. */
  const begun = new Map<string, string>();
  const longWalks = createTurns(LONG_WALKS);
  const memory = createPollMemory();
  /** Due times that this process has just stored, so that they need not be read again. */
  const stored = new Map<string, number>();
  const dueAtOf = createPlans(clock, longestWaitMs);
  /** Those who wait for the next poll of an account that begins, due or not. */
  const demands = new Map<string, PromiseWithResolvers<PollOutcome>>();
  const worker = createWorker(options, {
    kind: POLL,
    concurrency: CONCURRENCY,
    groupOf: (accountId) => begun.get(accountId),
    async readDue(now, limit) {
      const found = await readDueAccounts(database, [...begun.keys()], { now, limit, longestWaitMs });
      const due = found.filter(({ accountId, plannedAt }) => dueAtOf(accountId, plannedAt) <= now);
      return due.map(({ accountId }) => accountId);
    },
    async readDueAt(accountId) {
      const plannedAt = stored.get(accountId) ?? (await readPollState(database, accountId)).dueAt;
      stored.delete(accountId);
      return plannedAt === null ? null : dueAtOf(accountId, plannedAt);
    },
    run,
  });

  async function run({ key: accountId, lease, lost, stopping }: Run): Promise<RunEnd> {
    const demand = demands.get(accountId);
    demands.delete(accountId);
    try {
      const signal = AbortSignal.any([lost, stopping]);
      const outcome = await poll(accountId, lease, { onDemand: demand !== undefined, signal });
      demand?.resolve(outcome);
      if (outcome.kind === 'stopped' || outcome.kind === 'idle') return 'stopped';
      return outcome.kind === 'done' && outcome.cycle.behind ? 'more' : 'idle';
    } catch (error) {
      demand?.reject(error);
      throw error;
    }
  }

  async function poll(
    accountId: string,
    lease: Lease,
    how: Pick<PollRequest, 'onDemand' | 'signal'>,
  ): Promise<PollOutcome> {
    let planned: PlannedPoll | undefined;
    const plan = (dueAt: number): number | null => {
      const now = clock.now();
      if (dueAtOf(accountId, dueAt) > now) return null;
      const spread = now - dueAt > LATE_MS ? 1 : 2 * JITTER;
      const at = now + Math.round(intervalMs * (1 + JITTER - spread * (1 - random())));
      planned = { dueAt, at };
      return at;
    };
    const request = { accountId, budget: BUDGET, longWalks, memory, plan, ...how };
    const outcome = await pollAccount(options, request, lease);
    if (outcome.kind === 'done') {
      const { cycle } = outcome;
      if (cycle.dueAt != null) stored.set(accountId, cycle.dueAt);
    } else if (planned !== undefined && outcome.kind !== 'stopped' && outcome.kind !== 'idle') {
      const waits = outcome.kind === 'failed' || outcome.kind === 'waiting';
      const { dueAt, at } = planned;
      await pollNextAt(database, lease, accountId, { dueAt, at: waits ? Math.min(at, outcome.retryAt) : at });
    }
    return outcome;
  }

  /**
   * Polls soon, because an event reported something that only a poll can confirm. Never rejects: the next period polls
   * anyway.
   */
  async function pollSoon(accountId: string, { fullSweep } = { fullSweep: false }): Promise<void> {
    const now = clock.now();
    try {
      await askForPoll(database, accountId, { at: now + EVENT_DELAY_MS, now, fullSweep });
    } catch (err) {
      logger.warn({ err, accountId }, 'a poll could not be requested');
    }
    worker.notify(accountId, EVENT_DELAY_MS);
  }

  /** The next poll of the account in this process; `busy` if another process polls it. */
  function pollOnDemand(accountId: string): Promise<PollOutcome> {
    const demand = demands.get(accountId) ?? Promise.withResolvers<PollOutcome>();
    demands.set(accountId, demand);
    const unmet = (): boolean => demands.get(accountId) === demand && demands.delete(accountId);
    worker.runNow(accountId).then(
      () => unmet() && demand.resolve({ kind: 'busy' }),
      (error: unknown) => unmet() && demand.reject(error),
    );
    return demand.promise;
  }

  /**
   * Polls now, and until no gap is left or this is not possible. A poll that is already in progress may have read the
   * newest page before the request, so it does not count. Temporary failures are retried a few times.
   */
  async function syncNow(accountId: string): Promise<SyncOutcome> {
    const deadline = new Deadline(clock, DEADLINE_MS, { keepAlive: true });
    try {
      for (let polls = 0; ; ) {
        const outcome = await deadline.within(pollOnDemand(accountId));
        if (outcome.kind === 'failed' || outcome.kind === 'done') polls += 1;
        const verdict = judge(outcome, polls, clock.now());
        if (typeof verdict !== 'number') return verdict;
        await deadline.within(clock.sleep(verdict, closing.signal));
      }
    } catch (error) {
      if (closing.signal.aborted || error instanceof DeadlinePassed) return { kind: 'unfinished' };
      throw error;
    } finally {
      deadline.done();
    }
  }

  /** Starts to poll an account: at once if it was never polled, otherwise when it is due. Throws as `query` does. */
  async function begin(account: Account): Promise<void> {
    if (begun.has(account.id) || !options.mayUse(account)) return;
    await beginPolls(database, account.id, clock.now());
    begun.set(account.id, hostOf(account));
    worker.notify(account.id);
  }

  return {
    /** Takes part in polling: each account is polled once per period, by any of the processes. */
    async start(): Promise<void> {
      await worker.start();
      for (const account of await readAccounts(database)) await begin(account);
    },
    begin,
    /** This process no longer polls an account. */
    end(accountId: string): void {
      begun.delete(accountId);
      memory.forget(accountId);
      options.metrics.forget(accountId);
    },
    pollSoon,
    syncNow,
    /** Polls what is due. Resolves when no poll of this process is in progress. */
    settle: worker.settle,
    async close(): Promise<void> {
      closing.abort();
      await worker.close();
    },
  };
}
