/**
 * Tells processes that something may be due. What is due stands in the database, so a notification may be lost and
 * may come twice: it only says where to look, and whoever depends on it also looks without one from time to time.
 */
export interface Notifier {
  readonly backend: 'postgres' | 'redis';

  /** False where nothing can be heard (a pooler in transaction mode), so that looking is all there is. */
  readonly hears: boolean;

  /**
   * Has a subscriber of `topic` called with `key`, `delayMs` from now. Several calls for one key before then come as
   * one, at the earliest or the latest of their times. Returns at once and never throws.
   */
  notify(topic: string, key: string, delayMs?: number): void;

  /**
   * Has `onNotified` called with each key of `topic`. It resolves when this process has begun to look, and must not
   * reject. Redis then picks the process, and no key goes to one that has not begun with the last; Postgres calls every
   * process that hears. The function that is returned ends the subscription: keys then go to the other subscribers.
   */
  subscribe(topic: string, onNotified: (key: string) => Promise<void>): () => void;

  /** Resolves when notifications can be sent. Rejects with `NotifierUnavailable` after a few seconds. */
  ping(): Promise<void>;

  /** Sends and receives nothing more. Bounded in time. */
  close(): Promise<void>;
}

/** What carries notifications cannot be reached, or did not answer in time. */
export class NotifierUnavailable extends Error {
  override readonly name = 'NotifierUnavailable';
  readonly code = 'notifier_unavailable';
}
