import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { readPollState } from '../accounts/poll-state.ts';
import type { Lease } from '../db/lease.ts';
import type { Presence } from '../work/presence.ts';
import { createWorker, type Run, type RunEnd } from '../work/worker.ts';
import { attemptSend, giveUpSend, recordAbandoned } from './attempt-send.ts';
import { createQueueFloors, type KnownQueues, readDueQueues } from './due-queues.ts';
import type { QueueContext } from './queue-context.ts';
import {
  endWaits,
  type NextSend,
  type QueuedSend,
  readNextSend,
  SEND,
  type WriteResult,
} from './queue-store.ts';

/**
 * Maximum number of queues that run concurrently in a process. They wait for the service, for minutes if it heals a
 * session, and a queue that waits is only a lease: what is limited is what needs memory or the database.
 */
const CONCURRENCY = 10_000;
/** Maximum number of calls at the same time. Each needs a socket, and about 50 kB. */
const CALLS = 4_000;
/** Maximum size of the files in the memory of a process. A file waits for memory, a text does not. */
const FILE_MEMORY = 256 * 1024 * 1024;
/**
 * Maximum number of steps of one run, so that a long queue does not occupy its place in the process for too
 * long.
 */
const MAX_STEPS = 50;

/** How long a check of the queues is enough for the figures. */
const CHECKED_MS = 10_000;

export interface OutboxOptions
  extends Omit<
    QueueContext,
    'fileMemory' | 'calls' | 'floors' | 'aborting' | 'unanswered' | 'onServiceBack'
  > {
  readonly presence: Presence;
  readonly notifier: Notifier;
  readonly checkEveryMs?: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Sends what the CRM has queued. The key of a queue is its connection, because the sends of a connection go out
 * in order.
 */
export function createOutbox(options: OutboxOptions) {
  const { database, clock, logger, presence } = options;
  const floors = createQueueFloors(clock);
  const shared = {
    ...options,
    fileMemory: createTurns(FILE_MEMORY),
    calls: createTurns(CALLS),
    floors,
    unanswered: new Map<string, number>(),
    onServiceBack: (accountId: string) => void resumeSends(accountId),
  };
  let checkedAt = Number.NEGATIVE_INFINITY;
  const worker = createWorker(options, {
    kind: SEND,
    concurrency: CONCURRENCY,
    keepsLeases: true,
    readDue,
    async readDueAt(connectionId) {
      const next = await readNextSend(database, connectionId, clock.now(), floors.of(connectionId));
      return next === null ? null : (next.dueAt ?? 0);
    },
    run: (run) => runQueue({ ...shared, aborting: run.aborting }, run),
  });

  async function readDue(now: number, limit: number): Promise<readonly string[]> {
    checkedAt = clock.elapsed();
    return await readDueQueues(database, floors, { now, limit, owner: presence.id });
  }

  /**
   * Sends now, in any process, what only waited until the service answers this account again. Never rejects: each
   * send is due by itself later.
   */
  async function resumeSends(accountId: string): Promise<void> {
    try {
      for (const connectionId of await endWaits(database, accountId, clock.now()))
        worker.notify(connectionId);
    } catch (err) {
      logger.warn(
        { err, accountId },
        'waiting sends could not be resumed early; they resume when their wait ends',
      );
    }
  }

  return {
    ...worker,
    resumeSends,
    /** What this process knows of the queues, for figures. Throws as `query` does. */
    async readKnown(): Promise<KnownQueues | null> {
      // A process that does not send learns only here.
      if (clock.elapsed() - checkedAt > CHECKED_MS) await readDue(clock.now(), 0);
      return floors.known;
    },
  };
}

/**
 * Sends what is due on a connection, one after the other in the order of their positions, under the lease of its
 * queue. Returns `stopped` if this process may not send for the account now. Throws what the database throws.
 */
async function runQueue(
  context: QueueContext,
  { key, lease, lost, stopping, othersWait }: Run,
): Promise<RunEnd> {
  const { clock } = context;
  const signal = AbortSignal.any([lost, stopping]);
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (signal.aborted) return 'stopped';
    const now = clock.now();
    const next = await readNextSend(context.database, key, now, context.floors.of(key));
    if (next === null || !isDue(next, now)) return 'idle';
    if ((await takeStep(context, lease, next, signal)) === 'lost') return 'stopped';
    if (othersWait()) break;
  }
  return 'more';
}

/** An attempt whose process died is due at once: this process has the lease of the queue. */
function isDue({ dueAt }: NextSend, now: number): boolean {
  return dueAt === null || dueAt <= now;
}

async function takeStep(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  signal: AbortSignal,
): Promise<WriteResult> {
  if (send.attemptId !== null) return await recordAbandoned(context, lease, send);
  const endsAt = (send.firstAttemptAt ?? Number.POSITIVE_INFINITY) + LAST_ATTEMPT_AFTER_MS;
  if (context.clock.now() > endsAt) {
    // Our clock may be ahead. Until a poll has seen the service's, the send is neither attempted nor given up.
    const { lastGoodReference } = await readPollState(context.database, send.accountId);
    if (lastGoodReference !== null && lastGoodReference <= endsAt) return 'lost';
    return await giveUpSend(context, lease, send, null);
  }
  const client = await context.clientFor(send.accountId);
  if (client === 'elsewhere' || client === 'paused') return 'lost';
  if (client === 'gone') return await giveUpSend(context, lease, send, 'account_removed');
  return await attemptSend(context, lease, send, client, signal);
}
