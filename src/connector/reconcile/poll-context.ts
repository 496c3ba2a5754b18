import type { Base } from '../db/base.ts';
import type { Lease } from '../db/lease.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { PollMetrics } from './poll-metrics.ts';

/** Deliveries and clocks are slightly out of order, so each walk reads this much of what was already read. */
export const OVERLAP_MS = 5 * 60_000;

/** Largest page that the service returns. */
export const PAGE_SIZE = 100;

/**
 * Maximum number of pages that are read but not yet stored: the next pages are requested while the previous
 * ones are stored, several in one statement. If a poll is killed, these and one more are read again.
 */
export const READ_AHEAD = 16;

/** After this many pages in a row with nothing new, a poll fails: the list does not end. */
export const MAX_IDLE_PAGES = 20;
/** The same while polls fail for this reason. A page that contains something new ends the failure. */
export const MAX_IDLE_PAGES_STALLED = 2;

/** How many pages one cycle may read for each kind of gap. */
export interface PageBudget {
  readonly coverage: number;
  /** The coverage may continue for this long, in milliseconds. */
  readonly coverageMs?: number;
  readonly visibility: number;
  readonly sweep: number;
}

/** What one cycle uses. Created for each cycle, because lease, credential and signal are specific to it. */
export interface PollContext extends Base {
  readonly metrics: PollMetrics;
  readonly client: ServiceClient;
  readonly lease: Lease;
  readonly accountId: string;
  /** When the webhook was registered, epoch ms; null if it never was, so nothing counts as repaired. */
  readonly registeredAt: number | null;
  /** The age in days of the oldest messages that are stored of a new connection; null: any. */
  readonly historyDays: number | null;
  /** By connection: messages that are older are not stored, epoch ms. */
  readonly historyFrom: ReadonlyMap<string, number>;
  readonly budget: PageBudget;
  /** Waits until this poll may read more than the newest page; resolves with the function that ends it. */
  readonly enterLongWalk: () => Promise<() => void>;
  /** How many polls in a row have failed. */
  readonly failures: number;
  /** How many pages in a row may contain nothing new. */
  readonly maxIdlePages: number;
  /** Called when the service has given its first answer. */
  readonly onAnswer: () => void;
  /** Called after each write that adds to the feed. */
  readonly onCommitted: () => void;
  /** Aborts when the lease is lost or the process stops. */
  readonly signal: AbortSignal;
}

/** Another process polls this account now. What was written before remains. */
export class PollSuperseded extends Error {
  override readonly name = 'PollSuperseded';

  constructor() {
    super('another process took over the polling of this account');
  }
}

/** Fields that hold a value which was read as null: of messages, or of connections. */
export function noteUnread(
  { metrics, logger, accountId }: PollContext,
  fields: readonly string[],
  of: string,
): void {
  if (fields.length === 0) return;
  metrics.invalid.inc({ what: 'field' }, fields.length);
  logger.warn({ accountId, of, fields: [...new Set(fields)] }, 'fields could not be read and are null');
}
