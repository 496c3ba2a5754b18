/**
 * The rule: the status of a message advances from `sent` to `delivered` to `read`. `failed` is reached from
 * `sent` or `delivered` and is final. An update counts only if its rank is higher than the stored one, so
 * duplicates and late updates change nothing: `read` may arrive before `delivered`, and a status never moves
 * backwards.
 *
 * `read` and `failed` exclude each other. If both are reported, the first one that was stored counts and the
 * second one is a conflict: worth counting, because one of the two reports is wrong.
 *
 * The mistake that this prevents: the last update wins, and a late or duplicate `delivered` makes a read
 * message unread.
 */

/** A status as reported by the service. */
export type MessageStatus = 'sent' | 'delivered' | 'read' | 'failed';

// [status.values]
const RANK: Readonly<Record<MessageStatus, number>> = { sent: 1, delivered: 2, read: 3, failed: 4 };

export interface StatusAfter {
  /** The known status that applies now. Null if there is none. */
  readonly status: MessageStatus | null;
  /** False if there is nothing to store and nobody to notify. */
  readonly changed: boolean;
  /** True if `read` met `failed`. */
  readonly conflict: boolean;
}

/**
 * Applies an update to a stored status; null stands for none. Pure and idempotent. Statuses come from
 * `JSON.parse`, so any text may be passed: a text without a rank is ignored as an update, and replaced by the
 * next known status if it is the stored one.
 */
export function applyStatus(current: string | null, update: string | null): StatusAfter {
  const before = known(current);
  const reported = known(update);
  if (reported === null) return { status: before, changed: false, conflict: false };
  if (before === null) return { status: reported, changed: true, conflict: false };
  const conflict =
    (before === 'read' && reported === 'failed') || (before === 'failed' && reported === 'read');
  // [status.consumer.rank] [status.consumer.duplicates] [status.consumer.never-back] [status.failed-terminal]
  // [status.failed-not-after-read]
  const rises = before !== 'read' && RANK[reported] > RANK[before];
  return { status: rises ? reported : before, changed: rises, conflict };
}

function known(status: string | null): MessageStatus | null {
  return status !== null && Object.hasOwn(RANK, status) ? (status as MessageStatus) : null;
}
