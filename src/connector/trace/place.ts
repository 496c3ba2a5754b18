import { z } from 'zod';
import type { MessageStatus } from '../../contract/service/statuses.ts';

/**
 * Deliveries and changes are in one order: by time; at the same time deliveries first, then by `id` (of the
 * inbox, or of the batch of a change).
 */
export interface Place {
  readonly at: number;
  readonly rank: 0 | 1;
  readonly id: number;
}

export const DELIVERY_RANK = 0;
export const CHANGE_RANK = 1;

/** Orders places. */
export function comparePlaces(a: Place, b: Place): number {
  return a.at - b.at || a.rank - b.rank || a.id - b.id;
}

const counted = z.int().min(0);

/** Sort key of a trace: a place, and the number of deliveries of each kind up to it. */
export const TRACE_KEY = z.tuple([
  z.int(),
  z.union([z.literal(DELIVERY_RANK), z.literal(CHANGE_RANK)]),
  z.int().min(0),
  counted,
  counted,
  counted,
  counted,
  counted,
]);
export type TraceKey = z.infer<typeof TRACE_KEY>;

const STATUSES: readonly MessageStatus[] = ['sent', 'delivered', 'read', 'failed'];

/** Numbers the copies of a message's deliveries across pages. */
export class DuplicateCounts {
  readonly #counts: number[];

  /** `before`: the counts at the end of the previous page. */
  constructor(before: readonly number[]) {
    this.#counts = [...before];
  }

  /** 1 for the first delivery of its kind; null for a kind that is not counted. */
  next(event: string | null, status: MessageStatus | null): number | null {
    const kind = kindOf(event, status);
    if (kind === null) return null;
    const number = (this.#counts[kind] ?? 0) + 1;
    this.#counts[kind] = number;
    return number;
  }

  get counts(): readonly number[] {
    return this.#counts;
  }
}

function kindOf(event: string | null, status: MessageStatus | null): number | null {
  if (event === 'message.received') return 0;
  return event === 'message.status' && status !== null ? 1 + STATUSES.indexOf(status) : null;
}
