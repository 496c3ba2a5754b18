import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import type { SendingClient } from './open-client.ts';
import type { OutboxMetrics } from './outbox-metrics.ts';

/** Fetches the file of an account's message, if its address may be trusted. Throws when it cannot. */
export type FetchFile = (
  from: { readonly url: string; readonly accountId: string },
  signal: AbortSignal,
) => Promise<Uint8Array>;

/** What the queues of a process share. */
export interface QueueContext {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: OutboxMetrics;
  /** Between 0 and 1; spreads repeats. */
  readonly random: () => number;
  /** A client with the credential of an account, opened. Throws when the credential cannot be had now. */
  readonly clientFor: (accountId: string) => Promise<SendingClient>;
  /** Absent: files cannot be compared, so a file whose answer was lost stays unknown. */
  readonly fetchFile?: FetchFile | undefined;
  /** How many files are in memory at a time. */
  readonly fileSlots: Turns;
  /** Aborts when calls under way are to be given up. They may outlive the wish to stop for a while. */
  readonly givingUp: AbortSignal;
  /** Accounts whose last attempt of this process brought no answer of the service. */
  readonly unanswered: Set<string>;
  /** Told when an attempt of such an account is answered. */
  readonly onAnswering: (accountId: string) => void;
  /** Told after each write that the feed should show. */
  readonly onCommitted: () => void;
}
