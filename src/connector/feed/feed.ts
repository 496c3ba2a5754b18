import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Change, ChangeFilter } from './change.ts';

export interface FeedOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Feed {
  /** Up to `limit` changes with a `seq` above `after`, in order. */
  changesAfter(after: number, limit: number, filter?: ChangeFilter): Promise<Change[]>;
  /** The highest `seq` given so far. */
  lastSeq(): Promise<number>;
  /** Calls `onChanges` with every change above `after`, in order, one call at a time, until `signal` aborts. */
  subscribe(
    after: number,
    onChanges: (changes: readonly Change[]) => void | Promise<void>,
    signal: AbortSignal,
  ): void;
  /** Changes were committed by this process: number them soon. Returns at once. */
  nudge(): void;
  /** Begins looking for what other processes commit. */
  start(): void;
  /** Resolves when every change that was committed before the call has its number. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export declare function createFeed(options: FeedOptions): Feed;
