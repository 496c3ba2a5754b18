import type { Clock } from '../../runtime/clock/clock.ts';
import type { Deadline } from '../../runtime/clock/deadline.ts';

/** Limits on what is written at once, and on what may wait. */
export interface CommitQueueLimits {
  /** Number of concurrent commits. */
  readonly inFlight: number;
  /**
   * A commit starts next to another one only if this many deliveries wait, or one has waited this long: two
   * half batches cost more than a whole one, but a single hanging commit must not block the rest.
   */
  readonly overlapItems: number;
  readonly overlapAfterMs: number;
  readonly batchItems: number;
  readonly batchBytes: number;
  readonly waitingItems: number;
  readonly waitingBytes: number;
}

export interface CommitQueueOptions<Item> {
  /**
   * Writes a batch by the last deadline of its items. Resolves with the items that could not be written,
   * usually none.
   */
  readonly commit: (batch: readonly Item[], deadline: Deadline) => Promise<ReadonlySet<Item>>;
  readonly limits: CommitQueueLimits;
  readonly clock: Clock;
}

export interface CommitQueue<Item> {
  /**
   * Resolves true once the item is committed, and false if it is not: the queue is full or closed, the
   * deadline passed before its commit began, or the store failed.
   */
  add(item: Item, bytes: number, deadline: Deadline): Promise<boolean>;
  readonly waiting: number;
  /** Resolves when nothing waits or is being committed. */
  settle(): Promise<void>;
  /** Accepts no more items and drains the queue. */
  close(): Promise<void>;
}

interface Entry<Item> {
  readonly item: Item;
  readonly bytes: number;
  readonly since: number;
  readonly deadline: Deadline;
  readonly resolve: (written: boolean) => void;
}

/**
 * Group commit. An item that arrives at an idle queue is committed with everything else that arrives in the
 * same turn of the event loop; items that arrive during a commit are collected for the next one, so the batch size
 * grows with the load. A timer is needed only beside a commit that takes long.
 */
export function createCommitQueue<Item>(options: CommitQueueOptions<Item>): CommitQueue<Item> {
  const { commit, limits, clock } = options;
  const idle: (() => void)[] = [];
  let entries: Entry<Item>[] = [];
  let waitingBytes = 0;
  let inFlight = 0;
  let turnAwaited = false;
  let overlapAwaited = false;
  let closed = false;

  /** The oldest entries that fit into one batch; at least one. */
  function takeBatch(): Entry<Item>[] {
    let count = 0;
    let bytes = 0;
    for (const entry of entries) {
      if (count > 0 && (count >= limits.batchItems || bytes + entry.bytes > limits.batchBytes)) break;
      bytes += entry.bytes;
      count += 1;
    }
    const batch = entries.slice(0, count);
    entries = entries.slice(count);
    waitingBytes -= bytes;
    return batch;
  }

  async function write(batch: readonly Entry<Item>[], deadline: Deadline): Promise<void> {
    let failed: ReadonlySet<Item> | 'all' = 'all';
    try {
      failed = await commit(
        batch.map((entry) => entry.item),
        deadline,
      );
    } finally {
      inFlight -= 1;
      pump();
      for (const entry of batch) entry.resolve(failed !== 'all' && !failed.has(entry.item));
    }
  }

  /** After the deliveries that are already in the socket buffers have been read. */
  function pumpAfterTurn(): void {
    if (turnAwaited) return;
    turnAwaited = true;
    setImmediate(() => {
      turnAwaited = false;
      pump();
    });
  }

  /** Nothing else may arrive before the commit in progress ends. */
  function pumpWhenOverlapping(): void {
    const [oldest] = entries;
    if (overlapAwaited || oldest === undefined || inFlight >= limits.inFlight) return;
    overlapAwaited = true;
    clock.after(oldest.since + limits.overlapAfterMs - clock.elapsed(), () => {
      overlapAwaited = false;
      pump();
    });
  }

  function mayBegin(): boolean {
    const [oldest] = entries;
    if (oldest === undefined || inFlight >= limits.inFlight) return false;
    if (inFlight === 0 || entries.length >= limits.overlapItems) return true;
    return clock.elapsed() - oldest.since >= limits.overlapAfterMs;
  }

  function pump(): void {
    while (mayBegin()) {
      const [late, inTime] = split(takeBatch(), (entry) => entry.deadline.leftMs === 0);
      for (const entry of late) entry.resolve(false);
      // Items are in order of arrival, so the last one has the latest deadline.
      const last = inTime.at(-1);
      if (last === undefined) continue;
      inFlight += 1;
      void write(inTime, last.deadline).catch(() => undefined);
    }
    pumpWhenOverlapping();
    if (inFlight === 0 && entries.length === 0) for (const done of idle.splice(0)) done();
  }

  function settle(): Promise<void> {
    if (inFlight === 0 && entries.length === 0) return Promise.resolve();
    return new Promise((resolve) => idle.push(resolve));
  }

  return {
    add(item, bytes, deadline) {
      const full = entries.length >= limits.waitingItems || waitingBytes + bytes > limits.waitingBytes;
      if (closed || full) return Promise.resolve(false);
      return new Promise((resolve) => {
        entries.push({ item, bytes, since: clock.elapsed(), deadline, resolve });
        waitingBytes += bytes;
        pumpAfterTurn();
      });
    },
    get waiting() {
      return entries.length;
    },
    settle,
    close() {
      closed = true;
      return settle();
    },
  };
}

function split<T>(items: readonly T[], matches: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (matches(item) ? yes : no).push(item);
  return [yes, no];
}
