import { LAST_ATTEMPT_AFTER_MS } from '../../patterns/send-policy.ts';
import type { Lease } from '../leases/lease.ts';
import { attemptSend, settleAbandoned } from './attempt-send.ts';
import type { LaneContext } from './lane-context.ts';
import { type LaneSend, readHead, SEND, type Written } from './lane-store.ts';
import { lookUpSend } from './look-up-send.ts';
import { giveUpSend } from './settle.ts';

/**
 * Where a lane stands when its run ends:
 * - `empty`: nothing is left.
 * - `waiting`: its first send is not due before `until`, epoch ms.
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
 * Sends what is due on a connection, one by one in the order of their positions, under the lease of its lane.
 * Throws what the database throws. A process must not run the same lane twice at a time.
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
    const head = await readHead(context.database, connectionId);
    if (signal.aborted || head === null || !isDue(head, context.clock.now())) return end;
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
    const head = await readHead(database, connectionId);
    if (head === null) return { kind: 'empty' };
    if (!isDue(head, clock.now())) return { kind: 'waiting', until: head.nextAttemptAt ?? 0 };
    if ((await takeStep(context, lease, head, signal)) === 'lost') return { kind: 'stopped' };
  }
  return { kind: 'more' };
}

/** An attempt whose process is gone is due at once, since whoever asks holds the lane. */
function isDue(head: LaneSend, now: number): boolean {
  return head.nextAttemptAt === null || head.nextAttemptAt <= now;
}

async function takeStep(
  context: LaneContext,
  lease: Lease,
  head: LaneSend,
  signal: AbortSignal,
): Promise<Written> {
  if (head.attemptId !== null) return await settleAbandoned(context, lease, head);
  const isOver =
    head.state === 'queued' &&
    head.firstAttemptAt !== null &&
    context.clock.now() > head.firstAttemptAt + LAST_ATTEMPT_AFTER_MS;
  if (isOver) return await giveUpSend(context, lease, head, null);
  const client = await context.clientFor(head.accountId);
  if (client === 'elsewhere' || client === 'paused') return 'lost';
  if (client === 'gone') return await giveUpSend(context, lease, head, 'account_removed');
  if (head.state === 'sending') return await lookUpSend(context, lease, head, client, signal);
  return await attemptSend(context, lease, head, client, signal);
}
