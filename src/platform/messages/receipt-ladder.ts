import { MESSAGE_STATUS_RANKS, type MessageStatus } from '../../contract/service/statuses.ts';

/** The bit of each status that was reported for a message. */
export const RECEIPT_BITS: Readonly<Record<MessageStatus, number>> = {
  sent: 1,
  delivered: 2,
  read: 4,
  failed: 8,
};

/** The status of an outgoing message, and all statuses reported for it. */
export interface Standing {
  readonly status: MessageStatus;
  readonly receipts: number;
}

/**
 * Applies one receipt. Null if it is a repetition or cannot follow, so that no event is sent. Otherwise an event is
 * sent even if the status does not change: a `delivered` that arrives after `read` is still reported.
 * Implements `Message status ladder`: never backwards; `failed` is final and does not follow `read`.
 */
export function applyReceipt(current: Standing, receipt: MessageStatus): Standing | null {
  const bit = RECEIPT_BITS[receipt];
  // [status.failed-terminal]
  if (current.status === 'failed' || (current.receipts & bit) !== 0) return null;
  const receipts = current.receipts | bit;
  // [status.sent-failed] [status.delivered-failed] [status.failed-not-after-read]
  if (receipt === 'failed') return current.status === 'read' ? null : { status: 'failed', receipts };
  // [status.values] [status.sent-delivered] [status.delivered-read] [status.read-early]
  const rises = MESSAGE_STATUS_RANKS[receipt] > MESSAGE_STATUS_RANKS[current.status];
  return { status: rises ? receipt : current.status, receipts };
}
