import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Lease } from '../db/lease.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { PollMetrics } from './poll-metrics.ts';

/** Deliveries and clocks are a little out of order: each walk goes this far below what was seen. */
export const OVERLAP_MS = 5 * 60_000;

/** Largest page that the service gives. */
export const PAGE_SIZE = 100;

/**
 * Pages that are read and not yet stored, at most: the next ones are asked for while the last ones are stored, and
 * a statement stores several. A poll that is killed reads so many again, and one more.
 */
export const READ_AHEAD = 16;

/** How many pages one cycle may read of each kind of gap. */
export interface PageBudget {
  readonly coverage: number;
  /** More of the coverage is read for so long, in milliseconds. */
  readonly coverageMs?: number;
  readonly visibility: number;
  readonly sweep: number;
}

/** What a cycle has at hand. It is made anew for each cycle, since lease, credential and signal are its own. */
export interface PollContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PollMetrics;
  readonly client: ServiceClient;
  readonly lease: Lease;
  readonly accountId: string;
  readonly registeredAt: number | null;
  readonly budget: PageBudget;
  /** Told when the service has given its first answer. */
  readonly onAnswer: () => void;
  /** Told after each write that the feed should show. */
  readonly onCommitted: () => void;
  /** Aborts when the lease is lost or the process stops. */
  readonly signal: AbortSignal;
}

/** Somebody else polls this account by now. What was written until then stays. */
export class PollSuperseded extends Error {
  override readonly name = 'PollSuperseded';

  constructor() {
    super('another process took over the polling of this account');
  }
}
