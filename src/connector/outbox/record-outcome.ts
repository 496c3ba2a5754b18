import type { OutboundState } from '../../contract/connector/outbound.ts';
import { giveUp, type SendStep } from '../../patterns/send-policy.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';
import type { MessageFacts } from '../db/facts.ts';
import type { Lease } from '../db/lease.ts';
import type { QueueContext } from './queue-context.ts';
import { type QueuedSend, type Settlement, settleSend, type Written } from './queue-store.ts';

/** How an attempt or a look-up ended. */
export interface Ending {
  readonly step: SendStep;
  /** Code of the refusal or failure; null after a success. */
  readonly errorCode: string | null;
  /** The message that it became. */
  readonly message?: MessageFacts | undefined;
  /** The service gave no answer: a repeat need not wait once it does. */
  readonly away?: boolean;
  /** When the wait before a repeat began, epoch ms. Default: now. */
  readonly since?: number;
}

/** A held send is not due sooner, so that a credential that is refused again and again is not asked in a loop. */
const HOLD_MS = 15_000;

/** Waits between tries to commit what the service has answered. Beyond them the answer counts as lost. */
const TRIES_MS = [50, 200, 1_000, 2_000, 5_000];

/**
 * Commits how a send stands. An answer is worth more than a moment of the database: a failing one is tried again
 * for some seconds. Repeating it is safe, since it settles one attempt once.
 */
export async function recordOutcome(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  ending: Ending,
): Promise<Written> {
  const { database, clock, metrics, logger } = context;
  const settlement = toSettlement(send, ending, clock.now());
  for (const waitMs of [...TRIES_MS, null]) {
    try {
      const written = await settleSend(database, lease, settlement, clock.now(), ending.message);
      context.onCommitted();
      if (written === 'done' && isOver(settlement.state)) metrics.settled.inc({ state: settlement.state });
      return written;
    } catch (error) {
      if (waitMs === null || !isConnectionFailure(error)) throw error;
      logger.warn(
        { err: error, outboundId: send.id },
        'the answer of a send could not be stored; trying again',
      );
      await clock.sleep(waitMs);
    }
  }
  return 'lost';
}

/** Ends a send that is not attempted any more: nothing went out, unless an earlier answer was lost. */
export function giveUpSend(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  errorCode: string | null,
): Promise<Written> {
  return recordOutcome(context, lease, send, { step: giveUp(send.inDoubt), errorCode });
}

function isOver(state: OutboundState): state is Exclude<OutboundState, 'queued' | 'sending'> {
  return state !== 'queued' && state !== 'sending';
}

function toSettlement(
  send: QueuedSend,
  { step, errorCode, message, away = false, since }: Ending,
  now: number,
): Settlement {
  const base = {
    outboundId: send.id,
    attemptId: send.attemptId,
    messageId: message?.messageId ?? null,
    lastError: errorCode,
    nextAttemptAt: null,
    awaitsService: false,
    lostAt: null,
    inDoubt: send.inDoubt,
    startsAnew: false,
  };
  switch (step.next) {
    case 'sent':
    case 'delivered_not_stored':
      return { ...base, state: step.next, inDoubt: false };
    case 'rejected':
    case 'unknown':
      return { ...base, state: step.next };
    case 'repeat':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: Math.max(now, (since ?? now) + step.waitMs),
        awaitsService: away,
        inDoubt: step.inDoubt,
      };
    case 'hold':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: now + HOLD_MS,
        inDoubt: step.inDoubt,
        startsAnew: !step.inDoubt,
      };
    case 'look_up':
      // Until a look is answered, the service may be away, and whatever goes out next would be lost as well.
      return {
        ...base,
        state: 'sending',
        lostAt: now,
        nextAttemptAt: now,
        awaitsService: true,
        inDoubt: true,
      };
  }
}
