import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { DispatchMetrics } from './dispatch-metrics.ts';
import type { ChangeHandlers } from './handlers.ts';

/** What all queues of a process share. */
export interface QueueContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  readonly metrics: DispatchMetrics;
  readonly handlers: ChangeHandlers;
  /** The key of the change with this number. */
  readonly keyOf: (seq: number) => string;
}
