/**
 * The rule: a message's status rises `sent`, `delivered`, `read`. `failed` is reached from `sent` or
 * `delivered` and is final. An update counts only if it ranks above what is stored, so repeats and
 * stragglers change nothing: `read` may arrive before `delivered`, and a status never moves back.
 *
 * `read` and `failed` exclude each other. If both are told, the first one that was stored stands and the
 * meeting is a conflict: worth counting, since one of the two tellers is wrong.
 *
 * The mistake that this prevents: the last update wins, and a `delivered` that comes late or twice makes a
 * message unread that was read.
 */

/** A status as the service tells it. */
export type MessageStatus = 'sent' | 'delivered' | 'read' | 'failed';

const RANK: Readonly<Record<MessageStatus, number>> = { sent: 1, delivered: 2, read: 3, failed: 4 };

export interface StatusAfter {
  /** Null: none is known yet. */
  readonly status: MessageStatus | null;
  /** False: there is nothing to store and nobody to tell. */
  readonly changed: boolean;
  /** True when `read` met `failed`. */
  readonly conflict: boolean;
}

/**
 * What becomes of a stored status when an update arrives; null stands for none. Pure; the same update again
 * changes nothing.
 */
export function applyStatus(current: MessageStatus | null, update: MessageStatus | null): StatusAfter {
  if (update === null) return { status: current, changed: false, conflict: false };
  if (current === null) return { status: update, changed: true, conflict: false };
  const conflict = (current === 'read' && update === 'failed') || (current === 'failed' && update === 'read');
  const rises = current !== 'read' && RANK[update] > RANK[current];
  return { status: rises ? update : current, changed: rises, conflict };
}
