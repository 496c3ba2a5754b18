import { giveUp, type SendStep } from '../../patterns/send-policy.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';
import type { MessageFacts } from '../db/facts.ts';
import type { Lease } from '../db/lease.ts';
import { isUnfinished } from '../db/outbox-tables.ts';
import type { QueueContext } from './queue-context.ts';
import { type QueuedSend, type SendUpdate, updateSend, type WriteResult } from './queue-store.ts';

/** The outcome of an attempt. */
export interface Outcome {
  readonly step: SendStep;
  /** Code of the refusal or failure; null after a success. */
  readonly errorCode: string | null;
  /** The message that resulted. */
  readonly message?: MessageFacts | undefined;
  /** The service did not answer: a retry may start as soon as it does. */
  readonly awaitsService?: boolean;
  /** Start of the wait before a retry, epoch ms. Default: now. */
  readonly since?: number;
}

/** A held send waits at least this long, so that a refused credential is not tried in a tight loop. */
const HOLD_MS = 15_000;

/** Waits between attempts to commit the answer of the service. After the last one, the answer counts as lost. */
const COMMIT_RETRY_MS = [50, 200, 1_000, 2_000, 5_000];

/**
 * Commits the outcome of an attempt. If the database fails, the commit is retried for some
 * seconds, so that the answer is not lost. Repeating it is safe, because an attempt can end only once.
 */
export async function recordOutcome(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  outcome: Outcome,
): Promise<WriteResult> {
  const { database, clock, metrics, logger } = context;
  const update = toUpdate(send, outcome, clock.now());
  for (const waitMs of [...COMMIT_RETRY_MS, null]) {
    try {
      const result = await updateSend(database, lease, update, clock.now(), outcome.message);
      context.onCommitted();
      if (result === 'done' && !isUnfinished(update.state)) metrics.finished.inc({ state: update.state });
      return result;
    } catch (error) {
      if (waitMs === null || !isConnectionFailure(error)) throw error;
      logger.warn({ err: error, outboundId: send.id }, 'the answer of a send could not be stored; retrying');
      await clock.sleep(waitMs);
    }
  }
  return 'lost';
}

/** Ends a send that will not be attempted again: `rejected`, or `unknown` if an earlier answer was lost. */
export function giveUpSend(
  context: QueueContext,
  lease: Lease,
  send: QueuedSend,
  errorCode: string | null,
): Promise<WriteResult> {
  return recordOutcome(context, lease, send, { step: giveUp(send.inDoubt), errorCode });
}

function toUpdate(
  send: QueuedSend,
  { step, errorCode, message, awaitsService = false, since }: Outcome,
  now: number,
): SendUpdate {
  const base = {
    outboundId: send.id,
    attemptId: send.attemptId,
    messageId: message?.messageId ?? null,
    lastError: errorCode,
    nextAttemptAt: null,
    awaitsService: false,
    inDoubt: send.inDoubt,
    resetsFirstAttempt: false,
  };
  switch (step.next) {
    case 'sent':
    case 'delivered_not_stored':
      return { ...base, state: step.next, inDoubt: false };
    case 'rejected':
      return { ...base, state: step.next };
    case 'unknown':
      return { ...base, state: step.next, inDoubt: true };
    case 'repeat':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: Math.max(now, (since ?? now) + step.waitMs),
        awaitsService,
        inDoubt: step.inDoubt,
      };
    case 'hold':
      return {
        ...base,
        state: 'queued',
        nextAttemptAt: now + HOLD_MS,
        inDoubt: step.inDoubt,
        resetsFirstAttempt: !step.inDoubt,
      };
  }
}
