import type { Clock } from '../clock/clock.ts';

/** What one request holds of a budget. */
export interface Share {
  /** Takes this many bytes more. */
  grow(bytes: number): void;
  /** Gives everything back. Further calls do nothing. */
  leave(): void;
}

/** Memory that requests of strangers have in common. */
export interface MemoryBudget {
  /**
   * Takes bytes for a request that comes from `address`. `giveWay` is called when they are needed for others; they are
   * given back by then, and the request must let go of what it holds.
   */
  enter(address: string, bytes: number, giveWay: () => void): Share;
  /** Bytes that are taken now. */
  readonly bytes: number;
}

interface Held {
  bytes: number;
  readonly since: number;
  readonly giveWay: () => void;
}

interface Holder {
  bytes: number;
  readonly shares: Set<Held>;
}

/**
 * Makes a budget of `mostBytes`. When it is full, room is made among the requests of the address that holds most, even
 * if the newcomer is one of them: the one goes that has held most for the longest. So what is small and quick finds
 * room, even if it comes from the same address as a flood.
 */
export function createMemoryBudget(clock: Clock, mostBytes: number): MemoryBudget {
  const holders = new Map<string, Holder>();
  let taken = 0;

  function makeRoom(): void {
    while (taken > mostBytes) {
      const [address, holder] = largest(holders) ?? [];
      const held = holder === undefined ? undefined : heaviest(holder.shares, clock.elapsed());
      if (address === undefined || held === undefined) return;
      giveBack(address, held);
      held.giveWay();
    }
  }

  function giveBack(address: string, held: Held): void {
    const holder = holders.get(address);
    if (holder?.shares.delete(held) !== true) return;
    holder.bytes -= held.bytes;
    taken -= held.bytes;
    if (holder.shares.size === 0) holders.delete(address);
  }

  function take(address: string, held: Held, bytes: number): void {
    const holder = holders.get(address);
    if (holder?.shares.has(held) !== true) return;
    held.bytes += bytes;
    holder.bytes += bytes;
    taken += bytes;
    makeRoom();
  }

  return {
    enter(address, bytes, giveWay) {
      const held: Held = { bytes: 0, since: clock.elapsed(), giveWay };
      const holder = holders.get(address);
      if (holder === undefined) holders.set(address, { bytes: 0, shares: new Set([held]) });
      else holder.shares.add(held);
      take(address, held, bytes);
      return {
        grow: (more) => take(address, held, more),
        leave: () => giveBack(address, held),
      };
    },
    get bytes() {
      return taken;
    },
  };
}

function largest(holders: ReadonlyMap<string, Holder>): readonly [string, Holder] | undefined {
  let found: readonly [string, Holder] | undefined;
  for (const entry of holders) if (found === undefined || entry[1].bytes > found[1].bytes) found = entry;
  return found;
}

/** The share with the most bytes times milliseconds: large and quick weighs as much as small and slow. */
function heaviest(shares: ReadonlySet<Held>, now: number): Held | undefined {
  let found: Held | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const held of shares) {
    const weight = held.bytes * (now - held.since + 1);
    if (weight <= most) continue;
    most = weight;
    found = held;
  }
  return found;
}
