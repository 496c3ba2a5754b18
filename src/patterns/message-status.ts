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
  /** The known status that holds now. Null: there is none. */
  readonly status: MessageStatus | null;
  /** False: there is nothing to store and nobody to tell. */
  readonly changed: boolean;
  /** True when `read` met `failed`. */
  readonly conflict: boolean;
}

/**
 * What becomes of a stored status when an update arrives; null stands for none. Pure; the same update again
 * changes nothing. Statuses come out of `JSON.parse`, so any text may be given: what has no rank is ignored as an
 * update, and left by the next known one where it is stored.
 */
export function applyStatus(current: string | null, update: string | null): StatusAfter {
  const before = known(current);
  const told = known(update);
  if (told === null) return { status: before, changed: false, conflict: false };
  if (before === null) return { status: told, changed: true, conflict: false };
  const conflict = (before === 'read' && told === 'failed') || (before === 'failed' && told === 'read');
  const rises = before !== 'read' && RANK[told] > RANK[before];
  return { status: rises ? told : before, changed: rises, conflict };
}

function known(status: string | null): MessageStatus | null {
  return status !== null && Object.hasOwn(RANK, status) ? (status as MessageStatus) : null;
}
