import type { Router } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { SubscriptionSecrets } from './subscription-secrets.ts';

export interface ReceiverOptions {
  readonly database: Database;
  readonly subscriptions: SubscriptionSecrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Told after a commit that wrote changes: the feed's nudge. */
  readonly onCommitted?: () => void;
  /** Told after a commit with connection events: time for a poll of these accounts. */
  readonly onConnectionEvent?: (accountId: string) => void;
}

export interface Receiver {
  /** Serves `POST /webhooks/messaging` and `POST /webhooks/messaging/{subscriptionId}`. Mount it first. */
  readonly router: Router;
  /** Resolves when no delivery is being read or written. */
  settle(): Promise<void>;
  /** Takes no more, finishes what was taken. */
  close(): Promise<void>;
}

export declare function createReceiver(options: ReceiverOptions): Receiver;
