import type { Clock } from '../../runtime/clock/clock.ts';

/**
 * A send that was stored this long after one behind it is found by the next check of all queues: much longer than
 * the deadline of the statement that stores it.
 */
const LATE_MS = 15_000;
/** Maximum number of queues that are remembered. */
const MAX_QUEUES = 20_000;

/** The positions up to which each queue has only finished sends, as one process knows. */
export interface QueueFloors {
  /** Every send of the queue up to this position has finished. */
  of(connectionId: string): number;
  /** This is now the first unfinished send of the queue. */
  note(connectionId: string, position: number): void;
  /** A check of all queues has found a send of this one, which may be below. */
  doubt(connectionId: string): void;
  /** True once after a doubt: if no send is above, look everywhere. */
  takeDoubt(connectionId: string): boolean;
  /** There was a send below: nothing is known of the queue. */
  forget(connectionId: string): void;
}

interface Floor {
  readonly floor: number;
  readonly next: number;
  readonly since: number;
  readonly doubted: boolean;
}

/**
 * While somebody holds a snapshot of the database, the index of a queue keeps an entry for each send that was ever in it.
 * So the next send is looked for above those that had finished some time ago. Not above those that have just finished:
 * sends are not committed in the order of their positions.
 */
export function createQueueFloors(clock: Clock): QueueFloors {
  const floors = new Map<string, Floor>();
  return {
    of: (connectionId) => floors.get(connectionId)?.floor ?? 0,
    note(connectionId, position) {
      const known = floors.get(connectionId);
      const now = clock.elapsed();
      if (known !== undefined && now - known.since < LATE_MS) return;
      if (known === undefined && floors.size >= MAX_QUEUES) floors.clear();
      floors.set(connectionId, { floor: known?.next ?? 0, next: position - 1, since: now, doubted: false });
    },
    doubt(connectionId) {
      const known = floors.get(connectionId);
      if (known !== undefined) floors.set(connectionId, { ...known, doubted: true });
    },
    takeDoubt(connectionId) {
      const known = floors.get(connectionId);
      if (known === undefined || !known.doubted) return false;
      floors.set(connectionId, { ...known, doubted: false });
      return known.floor > 0;
    },
    forget: (connectionId) => void floors.delete(connectionId),
  };
}
