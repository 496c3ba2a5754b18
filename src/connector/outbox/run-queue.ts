import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Lease } from '../db/lease.ts';
import type { Run, RunEnd } from '../work/worker.ts';
import { attemptSend, settleAbandoned } from './attempt-send.ts';
import { lookUpSend } from './look-up-send.ts';
import type { QueueContext } from './queue-context.ts';
import { type QueuedSend, readNext, type Written } from './queue-store.ts';
import { giveUpSend } from './settle.ts';

/** Steps of one run, so that a long queue does not keep its place in the queue for ever. */
const MAX_STEPS = 50;

/**
 * Sends what is due on a connection, one by one, under the lease of its queue: in the order of their positions, but for
 * sends that may go while one to another recipient is being looked up. It is `stopped` when this process may not send
 * for the account now. Throws what the database throws.
 */
export async function runQueue(context: QueueContext, { key, lease, lost, stopping }: Run): Promise<RunEnd> {
  const { database, clock } = context;
  const signal = AbortSignal.any([lost, stopping]);
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (signal.aborted) return 'stopped';
    const now = clock.now();
    const next = await readNext(database, key, now);
    if (next === null || !isDue(next, now)) return 'idle';
    if ((await takeStep(context, lease, next, signal)) === 'lost') return 'stopped';
  }
  return 'more';
}

/** An attempt whose process is gone is due at once, since whoever asks holds the queue. */
function isDue(send: QueuedSend, now: number): boolean {
  return send.nextAttemptAt === null || send.nextAttemptAt <= now;
}

async function takeStep(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  signal: AbortSignal,
): Promise<Written> {
  if (send.attemptId !== null) return await settleAbandoned(context, lease, send);
  const isOver =
    send.state === 'queued' &&
    send.firstAttemptAt !== null &&
    context.clock.now() > send.firstAttemptAt + LAST_ATTEMPT_AFTER_MS;
  if (isOver) return await giveUpSend(context, lease, send, null);
  const client = await context.clientFor(send.accountId);
  if (client === 'elsewhere' || client === 'paused') return 'lost';
  if (client === 'gone') return await giveUpSend(context, lease, send, 'account_removed');
  if (send.state === 'sending') return await lookUpSend(context, lease, send, client, signal);
  return await attemptSend(context, lease, send, client, signal);
}
