import type { MessageStatus } from '../../contract/service/statuses.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { ContactBehavior } from './contacts.ts';

/** A planned receipt: it happens at `at` and reaches the service at `reportedAt`. */
export interface PlannedReceipt {
  readonly status: MessageStatus;
  readonly at: number;
  readonly reportedAt: number;
}

/** The receipts and the reply of a person's phone to one message. Times are virtual epoch ms. */
export interface ReceiptPlan {
  readonly receipts: readonly PlannedReceipt[];
  readonly reply: { readonly text: string; readonly at: number } | null;
}

/**
 * Plans a person's reaction to a message sent at `sentAt`. `draw` in [0, 1) decides whether `read` is reported before
 * `delivered`: both happen in order, but the earlier receipt is reported later.
 * [status.read-early]
 */
export function planReceipts(behavior: ContactBehavior, sentAt: number, draw: number): ReceiptPlan {
  const { deliverAfterMs, readAfterMs, failAfterMs, autoReply } = behavior;
  const receipts: PlannedReceipt[] = [];
  const add = (status: MessageStatus, afterMs: number | null, lagMs = 0): void => {
    if (afterMs === null) return;
    const at = sentAt + afterMs;
    receipts.push({ status, at, reportedAt: at + lagMs });
  };

  const { chance, lagMs } = ASSUMPTIONS.readOvertakes.value;
  const bothHappen = deliverAfterMs !== null && readAfterMs !== null && deliverAfterMs <= readAfterMs;
  const lateBy = bothHappen && draw < chance ? readAfterMs - deliverAfterMs + lagMs : 0;
  add('delivered', deliverAfterMs, lateBy);
  add('read', readAfterMs);
  add('failed', failAfterMs);

  const seenAfterMs = readAfterMs ?? deliverAfterMs;
  const reply =
    autoReply === null || seenAfterMs === null
      ? null
      : { text: autoReply, at: sentAt + seenAfterMs + ASSUMPTIONS.autoReplyAfterMs.value };
  return { receipts, reply };
}
