import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import type { SendingClient } from './open-client.ts';
import type { OutboxMetrics } from './outbox-metrics.ts';
import type { QueueFloors } from './queue-floors.ts';

/** What all queues of a process share. */
export interface QueueContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: OutboxMetrics;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  /** Returns a client with the credential of an account. Throws if the credential is not available now. */
  readonly clientFor: (accountId: string) => Promise<SendingClient>;
  /** Bytes of memory for files, shared by the hosts of the services. */
  readonly fileMemory: Turns;
  /** Concurrent calls to send, shared by the hosts of the services. */
  readonly calls: Turns;
  /** Up to where the queues have finished. */
  readonly floors: QueueFloors;
  /** Aborts when calls in flight must end. This may be some time after the process was asked to stop. */
  readonly aborting: AbortSignal;
  /** Accounts whose last attempt in this process received no answer from the service. */
  readonly unanswered: Set<string>;
  /** Called when the service has answered an attempt of such an account. */
  readonly onServiceBack: (accountId: string) => void;
  /** Called after each write that adds to the feed. */
  readonly onCommitted: () => void;
}
