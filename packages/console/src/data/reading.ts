/** What is on display is read again this often while the page is visible, and when it becomes visible. */
export const REFRESH_MS = 4_000;
/** What was read longer ago than this is not current: the next read is late. */
const CURRENT_MS = 2 * REFRESH_MS + 1_000;

/** One figure: when it was last read (0 if never), and why its latest read failed. */
export interface Figure {
  readonly at: number;
  readonly failure: Error | null;
}

/** How old figures are that are on display together. */
export interface Reading {
  /** When the oldest of them was read, in epoch milliseconds; undefined before all of them were. */
  readonly at: number | undefined;
  /** Whether all of them were read lately, and no read of them has failed since. */
  readonly isCurrent: boolean;
  /** Whether a read has failed, or is late. While figures are read for the first time, they are neither. */
  readonly isLate: boolean;
}

/** How old figures are at a time. Of no figures, nothing is known. */
export function readingOf(now: number, figures: readonly Figure[]): Reading {
  const oldest = Math.min(...figures.map(({ at }) => at));
  const isRead = figures.length > 0 && oldest > 0;
  const isLate = figures.some(({ at, failure }) => failure !== null || (at > 0 && now - at > CURRENT_MS));
  return { at: isRead ? oldest : undefined, isCurrent: isRead && !isLate, isLate };
}

/**
 * What does not respond: the server of the page, the connector or a database behind it, the service that a connector
 * polls. `reads`: all of them do, and yet something on display cannot be read.
 */
export type Outage = 'server' | 'connector' | 'database' | 'reads' | 'service';

/** What is known of each part. Statuses are 0 without a response. */
export interface Signs {
  readonly server: number;
  /** The readiness of the connector; of the sandbox where there is none. */
  readonly ready: number;
  readonly hasConnector: boolean;
  /** Whether something on display could not be read lately. */
  readonly isLate: boolean;
  readonly pollsFail: boolean;
}

/**
 * The outermost part that does not respond; null if all do. A connector is also not ready because the service refuses
 * it, which prevents no reads.
 */
export function outageOf({ server, ready, hasConnector, isLate, pollsFail }: Signs): Outage | null {
  if (server === 0) return 'server';
  if (hasConnector && (ready === 0 || ready === 502)) return 'connector';
  if (isLate) return ready === 200 ? 'reads' : 'database';
  return pollsFail ? 'service' : null;
}
