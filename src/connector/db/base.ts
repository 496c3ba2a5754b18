import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

/** What every part of a process works with. */
export interface Base {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}
