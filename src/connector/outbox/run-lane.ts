import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Lease } from '../leases/lease.ts';
import { attemptSend, settleAbandoned } from './attempt-send.ts';
import type { LaneContext } from './lane-context.ts';
import { type LaneSend, readNext, SEND, type Written } from './lane-store.ts';
import { lookUpSend } from './look-up-send.ts';
import { giveUpSend } from './settle.ts';

/**
 * Where a lane stands when its run ends:
 * - `empty`: nothing is left.
 * - `waiting`: nothing is due before `until`, epoch ms.
 * - `more`: others get their turn; go on soon.
 * - `busy`: a living process has it.
 * - `stopped`: another process took over, this one stops, or it may not send for the account now.
 */
export type LaneEnd =
  | { readonly kind: 'waiting'; readonly until: number }
  | { readonly kind: 'empty' | 'more' | 'busy' | 'stopped' };

/** Steps of one run, so that a long lane does not keep its place in the queue for ever. */
const MOST_STEPS = 50;

/**
 * Sends what is due on a connection, one by one, under the lease of its lane: in the order of their positions, but for
 * sends that may go while one to another recipient is being looked up. Throws what the database throws. A process must
 * not run the same lane twice at a time.
 */
export async function runLane(
  context: LaneContext,
  connectionId: string,
  signal: AbortSignal,
): Promise<LaneEnd> {
  for (;;) {
    const held = await context.presence.hold(
      `${SEND}:${connectionId}`,
      (lease, leased) => runHeld(context, lease, connectionId, leased),
      signal,
    );
    if (!held.held) return { kind: 'busy' };
    const { value: end } = held;
    if (end.kind !== 'empty' && end.kind !== 'waiting') return end;
    // What was queued while the lane was held met a busy lane: look again, now that it is free.
    const now = context.clock.now();
    const next = await readNext(context.database, connectionId, now);
    if (signal.aborted || next === null || !isDue(next, now)) return end;
  }
}

async function runHeld(
  context: LaneContext,
  lease: Lease,
  connectionId: string,
  signal: AbortSignal,
): Promise<LaneEnd> {
  const { database, clock } = context;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    if (signal.aborted) return { kind: 'stopped' };
    const now = clock.now();
    const next = await readNext(database, connectionId, now);
    if (next === null) return { kind: 'empty' };
    if (!isDue(next, now)) return { kind: 'waiting', until: next.nextAttemptAt ?? 0 };
    if ((await takeStep(context, lease, next, signal)) === 'lost') return { kind: 'stopped' };
  }
  return { kind: 'more' };
}

/** An attempt whose process is gone is due at once, since whoever asks holds the lane. */
function isDue(send: LaneSend, now: number): boolean {
  return send.nextAttemptAt === null || send.nextAttemptAt <= now;
}

async function takeStep(
  context: LaneContext,
  lease: Lease,
  send: LaneSend,
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
