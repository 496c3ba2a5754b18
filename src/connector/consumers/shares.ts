import type { Database } from '../../runtime/database/database.ts';
import type { Lease } from '../db/lease.ts';
import type { Presence } from '../work/presence.ts';
import {
  CONSUMER,
  type ConsumerRow,
  deleteLostEntries,
  MEMBER,
  openPartition,
  readParked,
  readShares,
  type Write,
  type Written,
} from './consumer-store.ts';
import type { ParkedRow } from './key.ts';
import { type Key, Partition } from './partition.ts';
import { PARTITIONS } from './partition-of.ts';

/** A partition that this process has. */
export interface HeldPartition {
  readonly partition: Partition;
  readonly lease: Lease;
  /** The row of its place. */
  placeId: number;
  /** Aborts when another process may have it. */
  readonly lost: AbortSignal;
  /** Aborts when calls in progress must end. */
  readonly aborting: AbortController;
  /** Aborts in both cases. */
  readonly stop: AbortSignal;
  /** It is being given back: no call begins. */
  leaving: boolean;
  readonly left: PromiseWithResolvers<void>;
}

export interface SharesOptions {
  readonly database: Database;
  readonly presence: Presence;
  readonly row: ConsumerRow;
  readonly limit: number;
  readonly quiet: boolean;
  readonly onReady: (key: Key) => void;
  readonly isDue: (row: ParkedRow) => boolean;
  /** Writes the exact places of partitions that are given back. Must not reject. */
  readonly giveBack: (held: readonly HeldPartition[]) => Promise<void>;
  readonly onFreed: () => void;
}

/**
 * Divides the partitions of a consumer among the processes that take part: nobody has more than his share, rounded up. A
 * process keeps a partition until it stops or others join, so leases are rarely taken and released.
 */
export function createShares(options: SharesOptions) {
  const { database, presence, row } = options;
  const { name } = row;
  const held = new Map<number, HeldPartition>();
  /** What is held or being taken, until it was released. */
  const holds = new Map<string, Promise<void>>();
  const closing = Promise.withResolvers<void>();
  let closed = false;
  let last: Promise<void> = Promise.resolve();

  /**
   * Holds a lease in the background, until it is lost or what `begin` resolves with in `left` has resolved. Resolves when
   * `begin` has, or when somebody else has the lease.
   */
  async function hold(
    lease: string,
    begin: (taken: Lease, lost: AbortSignal) => Promise<{ readonly left: Promise<void> }>,
  ): Promise<void> {
    if (holds.has(lease)) return;
    const begun = Promise.withResolvers<void>();
    const ended = presence
      .hold(lease, async (taken, lost) => {
        const over = Promise.withResolvers<void>();
        lost.addEventListener('abort', () => over.resolve());
        const { left } = await begin(taken, lost);
        begun.resolve();
        if (!lost.aborted) await Promise.race([left, over.promise]);
      })
      .then(() => begun.resolve(), begun.reject)
      .finally(() => holds.delete(lease));
    holds.set(lease, ended);
    await begun.promise;
  }

  async function take(number: number): Promise<void> {
    await hold(`${CONSUMER}:${name}/${number}`, async (lease, lost) => {
      const opened = closed ? undefined : await openPartition(database, name, number, lease);
      const left = Promise.withResolvers<void>();
      if (opened === undefined) return { left: Promise.resolve() };
      const { placeId, place, died, letters } = opened;
      const { limit, quiet, onReady, isDue } = options;
      const partition = new Partition({
        number,
        place,
        died,
        quiet,
        limit,
        letters: new Set(letters),
        onReady,
        isDue,
      });
      partition.know(await readParked(database, name, [number]));
      if (lost.aborted) return { left: Promise.resolve() };
      const aborting = new AbortController();
      const stop = AbortSignal.any([lost, aborting.signal]);
      held.set(number, { partition, lease, placeId, lost, aborting, stop, leaving: false, left });
      lost.addEventListener('abort', () => drop(number, partition));
      return { left: left.promise };
    });
  }

  function drop(number: number, of?: Partition): void {
    const found = held.get(number);
    if (found === undefined || (of !== undefined && found.partition !== of)) return;
    held.delete(number);
    // After a write that has found it lost, no heartbeat aborts its calls.
    found.aborting.abort(new Error('the partition was given back or lost'));
    found.left.resolve();
  }

  async function leave(leaving: readonly HeldPartition[]): Promise<void> {
    if (leaving.length === 0) return;
    for (const each of leaving) each.leaving = true;
    await options.giveBack(leaving);
    for (const { partition } of leaving) drop(partition.number, partition);
    await Promise.all(leaving.map(({ lease }) => holds.get(lease.name)));
    options.onFreed();
  }

  async function balanceNow(): Promise<void> {
    if (closed) return;
    await hold(`${MEMBER}:${name}/${presence.id}`, () => Promise.resolve({ left: closing.promise }));
    const leases = await readShares(database, name);
    const members = leases.filter((lease) => lease.name.startsWith(MEMBER)).length;
    const taken = new Set(leases.map((lease) => lease.name));
    const share = Math.ceil(PARTITIONS / Math.max(1, members));
    const mine = [...held.values()].sort((a, b) => a.partition.number - b.partition.number);
    await leave(mine.slice(share));
    const free = Array.from({ length: PARTITIONS }, (_, number) => number).filter(
      (number) => !held.has(number) && !taken.has(`${CONSUMER}:${name}/${number}`),
    );
    if (free.length > 0) await deleteLostEntries(database, name);
    // All of them have ended before the process leaves, also if one of them fails.
    const ends = await Promise.allSettled(free.slice(0, Math.max(0, share - held.size)).map(take));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  return {
    get held(): readonly HeldPartition[] {
      return [...held.values()];
    },
    of: (partition: number): HeldPartition | undefined => held.get(partition),
    /** Takes free partitions up to the share, or gives back what is above it. Throws as `query` does. */
    balance(): Promise<void> {
      const turn = last.then(balanceNow);
      last = turn.catch(() => undefined);
      return turn;
    },
    /** What was written of partitions. Those that another process has now are dropped. */
    written(writes: readonly Write[], { held: rows, ended, revisions }: Written): void {
      for (const { progress, lease } of writes) {
        const current = held.get(progress.partition);
        // It may have been lost and taken again since.
        if (current?.lease !== lease) continue;
        const placeId = rows.get(progress.partition);
        if (placeId === undefined) {
          drop(progress.partition);
          continue;
        }
        current.placeId = placeId;
        current.partition.written(progress, revisions, ended);
      }
    },
    /** Gives all of them back. */
    async close(): Promise<void> {
      closed = true;
      await last;
      await leave([...held.values()]);
      closing.resolve();
      await Promise.all(holds.values());
    },
  };
}
