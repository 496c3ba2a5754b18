import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { livingOwner } from '../db/lease.ts';
import { UNFINISHED } from '../db/outbox-tables.ts';
import { dueAt, nextSend, SEND } from './queue-store.ts';

/** A send that is stored this long after one behind it is found by the next look at all sends: longer than any statement that stores one. */
const LATE_MS = 30_000;
/** How often all sends are looked at. This may take long while somebody holds a snapshot: at most this part of the time. */
const LOOK_EVERY_MS = 60_000;
const LOOKING_PART = 1 / 50;

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
export type QueueFloors = ReturnType<typeof createQueueFloors>;

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
export function createQueueFloors(clock: Clock) {
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
    /** Every send of the queue up to this position has finished. */
    of: (connectionId: string): number => (state.queues.get(connectionId) ?? state.floor).floor,
    /** What is known; null if nothing is. */
    get known(): KnownQueues | null {
      return known();
    },
    /**
     * Learns from a check, which `read` makes: it finds every queue with unfinished sends, above what is known; null: among
     * all sends. `readLast` returns the highest position that was ever given. Throws what they throw.
     */
    check<Found extends FoundQueue>(
      read: (known: KnownQueues | null) => Promise<readonly Found[]>,
      readLast: () => Promise<number>,
    ): Promise<readonly Found[]> {
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

/* Statements about all queues. */

/* Moves from queue to queue by an index, so the length of a queue does not matter. */
const ALL_QUEUES = `
WITH RECURSIVE queues AS (
  SELECT min(n.connection_id) AS connection_id, 0::bigint AS above
    FROM connector.outbound n WHERE n.state IN ${UNFINISHED}
   UNION ALL
  SELECT (SELECT min(n.connection_id) FROM connector.outbound n
           WHERE n.state IN ${UNFINISHED} AND n.connection_id > l.connection_id), 0
    FROM queues l WHERE l.connection_id IS NOT NULL
)`;

/* Queues that were known, and those of new sends. */
const KNOWN_QUEUES = `
WITH known AS (SELECT * FROM unnest($2::text[], $3::bigint[]) AS k (connection_id, above)),
queues AS (
  SELECT connection_id, above FROM known
   UNION ALL
  SELECT DISTINCT n.connection_id, $1::bigint FROM connector.outbound n
   WHERE n.state IN ${UNFINISHED} AND n.position > $1::bigint
     AND NOT EXISTS (SELECT FROM known k WHERE k.connection_id = n.connection_id)
)`;

interface Statement {
  readonly all: string;
  readonly known: string;
}

/** A statement about the CTE `queues`, of which `text` takes the SQL of the time. */
function about(text: (now: string) => string): Statement {
  return { all: `${ALL_QUEUES}${text('$1::bigint')}`, known: `${KNOWN_QUEUES}${text('$4::bigint')}` };
}

async function ask<Row extends object>(
  db: Queryable,
  { all, known: text }: Statement,
  known: KnownQueues | null,
  ...time: readonly number[]
): Promise<Row[]> {
  if (known === null) return await db.query<Row>(all, time);
  const { above, queues } = known;
  return await db.query<Row>(text, [above, [...queues.keys()], [...queues.values()], ...time]);
}

/* Queues of accounts whose credential is refused or whose grant has ended are not due. */
const MAY_SEND = `NOT EXISTS (SELECT FROM connector.oauth_grants g
                    WHERE g.account_id = o.account_id AND g.ended_at IS NOT NULL)
   AND NOT EXISTS (SELECT FROM connector.accounts a
                     JOIN connector.poll_states p ON p.account_id = a.id
                    WHERE a.id = o.account_id AND p.refused_credential_version = a.credential_version)`;

const DUE = about(
  (now) => `
SELECT q.connection_id AS "connectionId", o.position AS "firstPosition", d.due AND ${MAY_SEND} AS due,
       (${livingOwner(`'${SEND}:' || q.connection_id`)}) AS owner
  FROM queues q
 CROSS JOIN LATERAL ${nextSend('q.connection_id', 'q.above')} o
 CROSS JOIN LATERAL (SELECT coalesce(${dueAt('o', now)} <= ${now}, true) AS due) d
 ORDER BY o.next_attempt_at NULLS FIRST`,
);

/** A queue with unfinished sends. */
interface Queue extends FoundQueue {
  readonly due: boolean;
  /** The living process that has its lease. */
  readonly owner: string | null;
}

/** Every queue, longest wait first. */
export async function readQueues(
  db: Queryable,
  known: KnownQueues | null,
  now: number,
): Promise<readonly Queue[]> {
  return await ask<Queue>(db, DUE, known, now);
}

const LAST_POSITION =
  'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM connector.outbound_position_seq';

/** Up to `limit` queues that have a send due and no owner other than this one, longest wait first. */
export async function readDueQueues(
  db: Queryable,
  floors: QueueFloors,
  { now, limit, owner }: { readonly now: number; readonly limit: number; readonly owner: string },
): Promise<readonly string[]> {
  const queues = await floors.check(
    (known) => readQueues(db, known, now),
    async () => (await db.query<{ last: number }>(LAST_POSITION))[0]?.last ?? 0,
  );
  const due = queues.filter((queue) => queue.due && (queue.owner === null || queue.owner === owner));
  return due.slice(0, limit).map(({ connectionId }) => connectionId);
}

/* A send begins after the one before it, which may have taken minutes. */
const LATE = about(
  (now) => `
SELECT count(*) AS waiting, min(greatest(o.next_attempt_at, before.updated_at)) AS "oldestAt"
  FROM queues q CROSS JOIN LATERAL ${nextSend('q.connection_id', 'q.above')} o
  LEFT JOIN LATERAL (
    SELECT n.updated_at FROM connector.outbound n
     WHERE n.connection_id = o.connection_id AND n.created_at <= o.created_at AND n.position < o.position
     ORDER BY n.created_at DESC NULLS FIRST, n.id DESC NULLS FIRST LIMIT 1) before ON true
 WHERE o.state = 'queued' AND o.attempt_id IS NULL AND o.next_attempt_at <= ${now} AND ${MAY_SEND}`,
);

/** How many sends wait, and since when the oldest has waited (null if none waits). */
export interface WaitingSends {
  readonly waiting: number;
  readonly oldestAt: number | null;
}

const MAX = 10_000;

const WAITING = about(
  () => `
SELECT count(*) AS waiting, min(s.created_at) AS "oldestAt" FROM (
  SELECT n.created_at
    FROM queues q
    JOIN connector.outbound n
      ON n.connection_id = q.connection_id AND n.state IN ${UNFINISHED} AND n.position > q.above
   LIMIT ${MAX}) s`,
);

/** Sends that are queued or in progress, at most 10,000. */
export async function readWaitingSends(db: Queryable, known: KnownQueues | null): Promise<WaitingSends> {
  const [row] = await ask<WaitingSends>(db, WAITING, known);
  return row ?? { waiting: 0, oldestAt: null };
}

/** Sends that are due, are next in their queue, and have not begun; and since when the oldest is due. */
export async function readLateSends(
  db: Queryable,
  known: KnownQueues | null,
  now: number,
): Promise<WaitingSends> {
  const [row] = await ask<WaitingSends>(db, LATE, known, now);
  return row ?? { waiting: 0, oldestAt: null };
}
