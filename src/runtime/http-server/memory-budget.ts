import type { Clock } from '../clock/clock.ts';
import { InFlight } from '../in-flight/in-flight.ts';

/** The share of one request in a budget. */
export interface Share {
  /** Takes this many more bytes. */
  grow(bytes: number): void;
  /** Returns everything. Further calls do nothing. */
  leave(): void;
}

/** Memory that unauthenticated requests share. */
export interface MemoryBudget {
  /**
   * Takes bytes for a request from `address`. `abort` is called when they are needed for others; at that
   * point they have been returned, and the request must release its memory.
   */
  enter(address: string, bytes: number, abort: () => void): Share;
  /** Bytes that are currently taken. */
  readonly bytes: number;
}

interface Held {
  bytes: number;
  readonly since: number;
  readonly abort: () => void;
  readonly leave: () => void;
}

interface Holder {
  bytes: number;
  readonly shares: InFlight<Held>;
}

/** Addresses that hold nothing are remembered up to this number. */
const MAX_IDLE_HOLDERS = 1_000;

/**
 * Creates a budget of `maxBytes`. When it is full, room is made among the requests of the address that holds
 * the most, even if the new request is one of them: the request that has held the most for the longest is dropped.
 * Small and fast requests therefore find room, even from the same address as a flood.
 */
export function createMemoryBudget(clock: Clock, maxBytes: number): MemoryBudget {
  const holders = new Map<string, Holder>();
  let taken = 0;

  function makeRoom(): void {
    while (taken > maxBytes) {
      const holder = largest(holders.values());
      const held = holder === undefined ? undefined : heaviest(holder.shares.list(), clock.elapsed());
      if (held === undefined) return;
      held.leave();
      held.abort();
    }
  }

  function holderOf(address: string): Holder {
    const known = holders.get(address);
    if (known !== undefined) return known;
    if (holders.size >= MAX_IDLE_HOLDERS) {
      for (const [idle, { shares }] of holders) if (shares.size === 0) holders.delete(idle);
    }
    const holder = { bytes: 0, shares: new InFlight<Held>() };
    holders.set(address, holder);
    return holder;
  }

  return {
    enter(address, bytes, abort) {
      const holder = holderOf(address);
      let isIn = true;
      const leave = (): void => {
        if (!isIn) return;
        isIn = false;
        remove();
        holder.bytes -= held.bytes;
        taken -= held.bytes;
      };
      const held: Held = { bytes: 0, since: clock.elapsed(), abort, leave };
      const remove = holder.shares.enter(held);
      const grow = (more: number): void => {
        if (!isIn) return;
        held.bytes += more;
        holder.bytes += more;
        taken += more;
        makeRoom();
      };
      grow(bytes);
      return { grow, leave };
    },
    get bytes() {
      return taken;
    },
  };
}

function largest(holders: Iterable<Holder>): Holder | undefined {
  let found: Holder | undefined;
  for (const holder of holders) if (found === undefined || holder.bytes > found.bytes) found = holder;
  return found;
}

/**
 * The share with the highest product of bytes and milliseconds: large and fast weighs as much as small and
 * slow.
 */
function heaviest(shares: readonly Held[], now: number): Held | undefined {
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
