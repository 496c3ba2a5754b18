import type { Clock } from '../../runtime/clock/clock.ts';

/** A send that is stored this long after one behind it is found by the next look at all sends: longer than any statement that stores one. */
const LATE_MS = 30_000;
/** How often all sends are looked at. This may take long while somebody holds a snapshot: at most this part of the time. */
const LOOK_EVERY_MS = 60_000;
const LOOKING_PART = 1 / 50;
/** Maximum number of queues that are remembered. With more, every check looks at all sends. */
const MAX_QUEUES = 20_000;

/** Every send up to `above` has finished, except in `queues`: there, every send up to the position of the queue has. */
export interface KnownQueues {
  readonly above: number;
  readonly queues: ReadonlyMap<string, number>;
}

/** A queue and the position of its first unfinished send. */
export interface FoundQueue {
  readonly connectionId: string;
  readonly firstPosition: number;
}

/** The positions up to which sends have finished, as one process knows. */
export interface QueueFloors {
  /** Every send of the queue up to this position has finished. */
  of(connectionId: string): number;
  /** What is known; null if nothing is. */
  readonly known: KnownQueues | null;
  /**
   * Learns from a check, which `read` makes: it finds every queue with unfinished sends, above what is known; null: among
   * all sends. `readLast` returns the highest position that was ever given. Throws what they throw.
   */
  check<Found extends FoundQueue>(
    read: (known: KnownQueues | null) => Promise<readonly Found[]>,
    readLast: () => Promise<number>,
  ): Promise<readonly Found[]>;
}

interface Floor {
  readonly floor: number;
  /** The floor after the next step. */
  readonly next: number;
}

interface State {
  readonly floor: Floor;
  readonly queues: ReadonlyMap<string, Floor>;
  /** When the floors rise next. */
  readonly stepAt: number;
}

const NOTHING: State = { floor: { floor: 0, next: 0 }, queues: new Map(), stepAt: Number.NEGATIVE_INFINITY };

/**
 * While somebody holds a snapshot of the database, the indexes of unfinished sends keep the entries of each send that was
 * ever unfinished. So unfinished sends are looked for above those that had finished some time ago. Not above those that
 * have just finished: sends are not committed in the order of their positions.
 */
export function createQueueFloors(clock: Clock): QueueFloors {
  let state = NOTHING;
  let lookAt = Number.NEGATIVE_INFINITY;
  /** One check at a time: the next one knows what this one has learned. */
  let tail: Promise<unknown> = Promise.resolve();

  function known(): KnownQueues | null {
    if (state.floor.floor === 0) return null;
    const queues = new Map([...state.queues].map(([connectionId, { floor }]) => [connectionId, floor]));
    return { above: state.floor.floor, queues };
  }

  return {
    of: (connectionId) => (state.queues.get(connectionId) ?? state.floor).floor,
    get known() {
      return known();
    },
    check(read, readLast) {
      const turn = tail.then(async () => {
        const now = clock.elapsed();
        const looks = now >= lookAt;
        const last = now >= state.stepAt ? await readLast() : undefined;
        const found = await read(looks ? null : known());
        if (looks) lookAt = now + Math.max(LOOK_EVERY_MS, (clock.elapsed() - now) / LOOKING_PART);
        state = learn(state, found, last, now);
        return found;
      });
      tail = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** With `last`, the floors rise to what was noted one step ago. A send below its floor was stored late, and lowers it. */
function learn(before: State, found: readonly FoundQueue[], last: number | undefined, now: number): State {
  if (found.length > MAX_QUEUES) return NOTHING;
  const rise = ({ floor, next }: Floor, then: number): Floor =>
    last === undefined ? { floor, next: Math.min(next, then) } : { floor: next, next: then };
  const queues = new Map<string, Floor>();
  for (const { connectionId, firstPosition } of found) {
    const below = firstPosition - 1;
    // Nothing was noted of a queue that is new: the common floor may not rise for it.
    const unknown = { floor: before.floor.floor, next: before.floor.floor };
    const { floor, next } = rise(before.queues.get(connectionId) ?? unknown, below);
    queues.set(connectionId, { floor: Math.min(floor, below), next });
  }
  if (last === undefined) return { ...before, queues };
  return { floor: rise(before.floor, last), queues, stepAt: now + LATE_MS };
}
