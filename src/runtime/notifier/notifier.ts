/**
 * Notifies processes that work may be due. The work itself is in the database, so a notification may be lost or
 * repeated: it only says what to check, and subscribers also check from time to time without one.
 */
export interface Notifier {
  /** False if no notifications arrive (behind a pooler in transaction mode), so that subscribers must check more often. */
  readonly receives: boolean;

  /**
   * Notifies the subscribers of `topic` with `key`, `delayMs` milliseconds from now. Several calls for one key before then
   * become one notification, at the earliest or the latest of their times. Returns at once and never throws.
   */
  notify(topic: string, key: string, delayMs?: number): void;

  /**
   * Calls `onNotified` with each key of `topic`. Its promise must resolve when this process has started to check, and
   * must not reject. With Redis, one process receives each key, and only while it has capacity for more; with Postgres,
   * every process that listens does. The returned function ends the subscription: the other subscribers receive the
   * keys from then on.
   */
  subscribe(topic: string, onNotified: (key: string) => Promise<void>): () => void;

  /**
   * Tells `key` to all processes that hear `topic`, at once, except those that receive nothing. Returns at once and never
   * throws.
   */
  tell(topic: string, key: string): void;

  /** Calls `onTold` with each key that is told. It must not throw. The returned function ends it. */
  hear(topic: string, onTold: (key: string) => void): () => void;

  /** Sends and receives nothing more. Bounded in time. */
  close(): Promise<void>;
}

/** Whether this is what Redis answers to wrong credentials. */
export function isRedisRefusal(message: string): boolean {
  return /NOAUTH|WRONGPASS|invalid password|NOPERM/i.test(message);
}

/** The carrier of notifications cannot be reached, or did not respond in time. */
export class NotifierUnavailable extends Error {
  override readonly name = 'NotifierUnavailable';
  readonly code = 'notifier_unavailable';
}
