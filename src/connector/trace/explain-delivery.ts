import type { TraceReason } from '../../contract/connector/trace.ts';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import { applyStatus } from '../../patterns/message-status.ts';
import { CHANGE } from '../db/facts.ts';
import type { KeptDelivery } from './read-deliveries.ts';
import type { MessageChangeRow, TracedRow } from './trace-rows.ts';

/** Why a delivery changed nothing (null if it changed something), and a sentence that explains its effect. */
export interface Explanation {
  readonly reason: TraceReason | null;
  readonly explanation: string;
}

/** What an explanation is based on. */
export interface DeliveryFacts {
  /** The changes of the message, as far as they were found. */
  readonly changes: readonly MessageChangeRow[];
  /** 1 for the first delivery of this event and status; null if it is not counted. */
  readonly duplicate: number | null;
  /** The current row of the message: it has had its status and all lower ones. */
  readonly row: TracedRow | null;
}

/**
 * Explains the effect of a delivery. A status only advances, so the statuses that the message has ever had
 * explain why another one was not applied, whenever it arrived. Implements `Message status ladder`: rules for
 * consumers.
 */
export function explainDelivery(delivery: KeptDelivery, facts: DeliveryFacts): Explanation {
  const { reason, accountId, owner } = delivery;
  const unread = reason === null ? '' : ` (${reason})`;
  switch (delivery.outcome) {
    case 'merged':
      return {
        reason: null,
        explanation: `${capitalise(describeEffect(delivery, facts.changes))}${unread}.`,
      };
    case 'unchanged':
      if (delivery.status !== null) return explainStatus(delivery.status, facts);
      return delivery.event === 'message.status'
        ? { reason: 'does_not_fit', explanation: `It reports no status that is known${unread}.` }
        : explainKnown('the message', facts.changes[0], facts);
    case 'foreign':
      return {
        reason: 'other_account',
        explanation: `It was delivered to the subscription of account ${accountId}, but the connection belongs to ${owner ?? 'another account'}.`,
      };
    case 'unknown_event':
      return {
        reason: 'unknown_event',
        explanation: 'The connector does not use this event type. The delivery is stored as received.',
      };
    case 'invalid':
      return {
        reason: 'does_not_fit',
        explanation: `Its fields are invalid: ${reason ?? 'the reason was not stored'}.`,
      };
    case 'unmergeable':
      return {
        reason: 'not_storable',
        explanation: `It could not be merged: ${reason ?? 'the reason was not stored'}.`,
      };
  }
}

/** What a change mask did to a message, as the predicate of a sentence. */
export function describeEffect(
  { changeMask, changeBatch }: Pick<KeptDelivery, 'changeMask' | 'changeBatch'>,
  changes: readonly MessageChangeRow[],
): string {
  const own = changes.filter((change) => change.batch === changeBatch);
  const status = own.find((change) => change.status !== null && change.type !== 'message.updated');
  const done = [
    ...(changeMask & CHANGE.created ? ['created the message'] : []),
    ...(changeMask & CHANGE.status ? [describeStatus(status)] : []),
    ...(changeMask & CHANGE.fields && !(changeMask & CHANGE.created) ? ['added missing fields'] : []),
  ];
  return done.join(' and ');
}

function describeStatus(change: MessageChangeRow | undefined): string {
  if (change === undefined || change.status === null) return 'advanced the status';
  const { status, previous } = change;
  return previous === null
    ? `set the status to ${status}`
    : `advanced the status from ${previous} to ${status}`;
}

function explainStatus(reported: MessageStatus, facts: DeliveryFacts): Explanation {
  if (facts.row?.direction === 'incoming' && facts.row.status === null) {
    return {
      reason: 'status_of_incoming',
      explanation: 'The message is incoming, so it has no status.',
    };
  }
  const had = facts.changes.filter((change) => change.status !== null && change.type !== 'message.updated');
  const reached = [...had.map((change) => change.status), facts.row?.status ?? null];
  if (reached.includes(reported)) {
    const same = had.find((change) => change.status === reported);
    return explainKnown(`the status ${reported}`, same, facts);
  }
  // The rule of the merge: the stored status, and its effect on this one.
  const current = reached.reduce((highest, status) => applyStatus(highest, status).status, null);
  const { changed, conflict } = applyStatus(current, reported);
  if (changed)
    return {
      reason: 'unexplained',
      explanation: 'It changed nothing, and the stored data does not show why.',
    };
  return conflict || current === 'failed'
    ? {
        reason: 'status_final',
        explanation: `The status was ${current}${current === 'failed' ? ', which is final' : ''}; ${reported} cannot follow it.`,
      }
    : {
        reason: 'status_not_higher',
        explanation: `The status was already ${current}, which is higher than ${reported}. A status never moves backwards.`,
      };
}

/** Who reports a change, by its source. */
export const REPORTERS = {
  webhook: 'Another delivery',
  poll: 'A poll',
  send: 'The answer of the send',
  api: 'A client of the API',
  media: 'The worker that keeps files',
} as const;

function explainKnown(
  what: string,
  earlier: MessageChangeRow | undefined,
  { duplicate }: DeliveryFacts,
): Explanation {
  const reason = 'already_known';
  if (duplicate !== null && duplicate > 1) {
    return { reason, explanation: `Copy ${duplicate - 1} of a delivery that had already reported ${what}.` };
  }
  if (earlier === undefined) return { reason, explanation: `${capitalise(what)} was already known.` };
  return { reason, explanation: `${REPORTERS[earlier.source]} had already reported ${what}.` };
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
