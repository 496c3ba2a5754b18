import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { ChangeHandlers } from './handlers.ts';
import type { HandoverMetrics } from './handover-metrics.ts';

/** What the lanes of a process share. */
export interface LaneContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1; spreads repeats. */
  readonly random: () => number;
  readonly metrics: HandoverMetrics;
  readonly handlers: ChangeHandlers;
  /** The key of the change with this number. */
  readonly keyOf: (seq: number) => string;
}
