import type { Queues } from '../../runtime/queue/queues.ts';
import { type Account, readAccounts } from '../accounts/account-store.ts';
import { type AccountPollerOptions, POLL, type PollOutcome, pollAccount } from './account-poller.ts';
import type { PageBudget } from './poll-context.ts';
import { askForFullSweep } from './poll-state.ts';
import { type SyncOutcome, syncNow } from './sync-now.ts';

const QUEUE = 'reconcile';
const JITTER = 0.1;
const CONCURRENCY = 4;

/** Ten seconds, also at 0.1 s for a page: then others of the process get their turn, and it is renewed at once. */
const PERIOD_BUDGET: PageBudget = { coverage: 100, coverageMs: 10_000, visibility: 20, sweep: 40 };
const WHOLE_BUDGET: PageBudget = { coverage: 1_000_000, visibility: 1_000_000, sweep: 1_000_000 };

/** Events come in bunches; one poll looks after all of a second. */
const EVENT_DELAY_MS = 1_000;
/** It is catching up: go on as soon as others had their turn. */
const CONTINUE_DELAY_MS = 0;
/** The database failed it: again soon, whatever becomes of the queue. */
const AGAIN_DELAY_MS = 2_000;
/** The poll that is under way may have listed before the event: look again when it should be over. */
const BUSY_DELAY_MS = 3_000;

export interface ReconcilerOptions extends AccountPollerOptions {
  readonly queues: Queues;
  readonly intervalMs: number;
}

export interface Reconciler {
  /** Takes part in the polling of every account: once per period over all processes. */
  start(): Promise<void>;
  /** Has an account polled from now on, soon for the first time. Rejects when the queue does not take it. */
  begin(account: Account): Promise<void>;
  /** Ends the polling of an account in all processes. */
  end(accountId: string): Promise<void>;
  /** Polls soon: an event told of something that only a poll can confirm. Never rejects. */
  pollSoon(accountId: string): Promise<void>;
  /** Polls now and resolves when no gap is left, or when that is not to be had. */
  syncNow(accountId: string): Promise<SyncOutcome>;
  /** Resolves when no poll of this process is under way. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Schedules the polls of all accounts and runs them. */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { database, queues, logger, clock, presence } = options;
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const begun = new Set<string>();
  /** Accounts whose poll the database failed, with what cancels the next try. */
  const failed = new Map<string, () => void>();
  const running = new Map<string, Promise<SyncOutcome>>();
  const queued = new Map<string, Promise<SyncOutcome>>();

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const done = (): void => void underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async function pollInPeriod(accountId: string, reason: unknown, signal: AbortSignal): Promise<void> {
    const request = { accountId, budget: PERIOD_BUDGET, fullSweep: false, impatient: false };
    const stop = AbortSignal.any([signal, closing.signal]);
    try {
      await follow(accountId, reason, await track(pollAccount(options, { ...request, signal: stop })));
    } catch (error) {
      if (closing.signal.aborted) return;
      logger.error({ err: error, accountId }, 'a poll could not be carried out; trying again soon');
      failed.get(accountId)?.();
      failed.set(
        accountId,
        clock.after(AGAIN_DELAY_MS, () => pollAgain(accountId)),
      );
    }
  }

  function pollAgain(accountId: string): void {
    failed.get(accountId)?.();
    failed.delete(accountId);
    if (!closing.signal.aborted) void pollInPeriod(accountId, 'again', closing.signal);
  }

  /** Some outcomes call for a poll before the next period. */
  async function follow(accountId: string, reason: unknown, outcome: PollOutcome): Promise<void> {
    if (outcome.kind === 'done' && outcome.cycle.behind) await wake(accountId, 'continue', CONTINUE_DELAY_MS);
    if (outcome.kind === 'busy' && reason === 'event') await wake(accountId, 'event', BUSY_DELAY_MS);
    if (outcome.kind !== 'failed') return;
    const wait = outcome.retryAt - clock.now();
    if (wait < options.intervalMs) await wake(accountId, 'retry', wait);
  }

  async function wake(accountId: string, reason: string, delayMs: number): Promise<void> {
    try {
      await queues.wake(QUEUE, { accountId, reason }, { jobId: `${reason}-${accountId}`, delayMs });
    } catch (error) {
      // The period comes round by itself.
      logger.warn({ err: error, accountId, reason }, 'a poll could not be asked for');
    }
  }

  function runSync(accountId: string): Promise<SyncOutcome> {
    const request = { accountId, budget: WHOLE_BUDGET, fullSweep: true, impatient: true };
    const poll = (signal: AbortSignal): Promise<PollOutcome> => pollAccount(options, { ...request, signal });
    const work = track(syncNow({ clock, signal: closing.signal, poll }));
    running.set(accountId, work);
    const done = (): void => void (running.get(accountId) === work && running.delete(accountId));
    work.then(done, done);
    return work;
  }

  async function begin(account: Account): Promise<void> {
    if (begun.has(account.id) || !options.polls(account)) return;
    const { id } = account;
    await askForFullSweep(database, id);
    await queues.schedule(QUEUE, id, { accountId: id }, { everyMs: options.intervalMs, jitter: JITTER });
    begun.add(id);
    await wake(id, 'start', 0);
  }

  return {
    async start() {
      queues.work(
        QUEUE,
        async (data, signal) => {
          if (typeof data['accountId'] === 'string')
            await pollInPeriod(data['accountId'], data['reason'], signal);
        },
        { concurrency: CONCURRENCY },
      );
      // Not by way of the queue: there the job of the process that died stands for the account until it is given up.
      presence.onLeft(POLL, pollAgain);
      presence.onReturn(() => {
        for (const accountId of [...failed.keys()]) pollAgain(accountId);
      });
      for (const account of await readAccounts(database)) await begin(account);
    },
    begin,
    async end(accountId) {
      begun.delete(accountId);
      await queues.unschedule(QUEUE, accountId);
    },
    pollSoon: (accountId) => wake(accountId, 'event', EVENT_DELAY_MS),
    syncNow(accountId) {
      const current = running.get(accountId);
      if (current === undefined) return runSync(accountId);
      const waiting = queued.get(accountId);
      if (waiting !== undefined) return waiting;
      const next = current
        .catch(() => undefined)
        .then(() => {
          queued.delete(accountId);
          return runSync(accountId);
        });
      queued.set(accountId, next);
      return next;
    },
    async settle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
    async close() {
      closing.abort();
      for (const cancel of failed.values()) cancel();
      await Promise.allSettled(underWay);
    },
  };
}
