import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { Base } from '../db/base.ts';
import type { Lease } from '../db/lease.ts';
import { leases } from '../db/process-tables.ts';

/**
 * Interval of the heartbeats of a process, and of its checks of the others. A row that is written more often is slow to
 * read while somebody holds a snapshot.
 */
const HEARTBEAT_EVERY_MS = 1_000;
/**
 * A process without a heartbeat for this long counts as dead. Including the check interval, its leases are free
 * within 5 s.
 */
export const SILENT_MS = 3_500;
/**
 * After a pause of this length, a process cannot know whether the others were silent, so it restarts its
 * observation.
 */
const BLIND_MS = 2_000;
const HEARTBEAT_DEADLINE_MS = 2_000;
/** For this long after it has begun, a heartbeat that was answered proves that no other process has its leases. */
const CONFIRMED_MS = 3_000;
/** Maximum number of leases that are being taken or released at the same time. */
const CONCURRENT_LEASES = 4;

export interface PresenceOptions extends Base {
  /** This process polls and sends; if false, it only serves requests. */
  readonly works: boolean;
  /** It has handlers. Default: false. */
  readonly handles?: boolean;
}

/** Result of an attempt to work: done, or not started because another process has the lease. */
export type Held<T> = { readonly held: true; readonly value: T } | { readonly held: false };

/**
 * This process among the others that share the database. Its leases are valid as long as it sends heartbeats;
 * when they stop, another process removes it, and its leases are free at once.
 */
export type Presence = ReturnType<typeof createPresence>;

/** One membership: from joining to leaving or being removed. */
interface Life {
  readonly id: string;
  readonly ending: AbortController;
  /** Leases that are held or being taken, by name. */
  readonly holds: Map<string, Hold>;
}

interface Hold {
  /** Undefined while the lease is being taken. */
  fence?: number;
  readonly lost: AbortController;
}

interface Other {
  readonly id: string;
  readonly beats: number;
}

interface FoundLease {
  readonly name: string;
  readonly fence: number;
  readonly mine: boolean;
}

const JOIN = `
INSERT INTO connector.processes (id, host, works, handles, started_at, beat_at)
VALUES ($1, $2, $3::boolean, $4::boolean, $5::bigint, $5::bigint) ON CONFLICT DO NOTHING`;

const HEARTBEAT = `
WITH beaten AS (
  UPDATE connector.processes SET beats = beats + 1, beat_at = $2::bigint WHERE id = $1 RETURNING id
)
SELECT EXISTS (SELECT FROM beaten) AS alive,
       ARRAY(SELECT to_json(o) FROM (
         SELECT id, beats FROM connector.processes WHERE id <> $1) o) AS others,
       ARRAY(SELECT to_json(f) FROM (
         SELECT l.name, l.fence, l.owner = $1 AS mine FROM connector.leases l
          WHERE l.owner = $1 OR NOT EXISTS (SELECT FROM connector.processes p WHERE p.id = l.owner)) f) AS leases`;

/** A process is not removed if its counter has changed since it was read. */
const REMOVE = `
DELETE FROM connector.processes p USING unnest($1::text[], $2::bigint[]) AS silent (id, beats)
 WHERE p.id = silent.id AND p.beats = silent.beats RETURNING p.id`;

const TAKE = `
INSERT INTO connector.leases AS held (name, owner)
SELECT $1::text, $2::text WHERE EXISTS (SELECT FROM connector.processes WHERE id = $2)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, fence = DEFAULT
 WHERE NOT EXISTS (SELECT FROM connector.processes p WHERE p.id = held.owner)
RETURNING fence`;

const RELEASE = `
DELETE FROM connector.leases l USING unnest($1::text[], $2::bigint[]) AS gone (name, fence)
 WHERE l.name = gone.name AND l.fence = gone.fence RETURNING l.name`;

const LEAVE = `
WITH gone AS (DELETE FROM connector.processes WHERE id = $1)
DELETE FROM connector.leases WHERE owner = $1`;

/**
 * Heartbeats are counters in the database. Each process observes the counters of the others on its own
 * monotonic clock and never compares their times: clocks differ, even under equal host names. A removed process
 * notices it at its next heartbeat: it stops its work and joins again under another name.
 */
export function createPresence(options: PresenceOptions) {
  const { database, clock, logger, works, handles = false } = options;
  // Thousands of leases may be taken at once, and heartbeats must not wait behind all of them.
  const turns = createTurns(CONCURRENT_LEASES);
  const takers = new Map<string, (id: string) => void>();
  const returning: (() => void)[] = [];
  /** The counters of the others, and since when each has not changed. */
  const seen = new Map<string, { readonly beats: number; readonly since: number }>();
  let life: Life = newLife();
  let lastBeatAt: number | undefined;
  /** When the last heartbeat that was answered began. */
  let confirmedAt = { elapsed: Number.NEGATIVE_INFINITY, now: 0 };
  let confirming: Promise<void> | undefined;
  let failing = false;
  let stopped = false;

  async function join(joining: Life): Promise<void> {
    await database.query(JOIN, [joining.id, hostname(), works, handles, clock.now()], {
      deadlineMs: HEARTBEAT_DEADLINE_MS,
    });
    life = joining;
  }

  async function beat(): Promise<void> {
    for (let again = true; again && !stopped; ) {
      const beating = life;
      const beganAt = { elapsed: clock.elapsed(), now: clock.now() };
      // A lease that is being taken now may not be visible to this query yet, so its absence proves nothing.
      const held = [...beating.holds].flatMap(([name, { fence, lost }]) =>
        fence === undefined ? [] : [{ name, fence, lost }],
      );
      const [row] = await database.query<{
        alive: boolean;
        others: readonly Other[];
        leases: readonly FoundLease[];
      }>(HEARTBEAT, [beating.id, clock.now()], { deadlineMs: HEARTBEAT_DEADLINE_MS });
      if (row === undefined) throw new Error('the query for the living processes returned no row');
      if (!row.alive) await beginAnew(beating);
      for (const { name, fence, lost } of held) {
        const kept = row.leases.some((lease) => lease.mine && lease.name === name && lease.fence === fence);
        if (!kept) lost.abort();
      }
      confirmedAt = beganAt;
      await takeUpLeft(row.leases);
      again = await removeSilent(findSilent(row.others));
    }
  }

  /** Other processes may have these leases now, and every write under them fails. */
  async function beginAnew(dead: Life): Promise<void> {
    dead.ending.abort(new Error('this process was considered dead'));
    await join(newLife());
    logger.warn('this process sent no heartbeat for a while and was considered dead; it joins again');
  }

  /** A machine that sleeps may stop its monotonic clock, but not its wall clock. */
  function isConfirmed(): boolean {
    const { elapsed, now } = confirmedAt;
    return Math.max(clock.elapsed() - elapsed, clock.now() - now) < CONFIRMED_MS;
  }

  function findSilent(others: readonly Other[]): readonly Other[] {
    const now = clock.elapsed();
    const blind = lastBeatAt !== undefined && now - lastBeatAt > BLIND_MS;
    lastBeatAt = now;
    const before = new Map(seen);
    seen.clear();
    for (const { id, beats } of others) {
      const known = before.get(id);
      const still = known?.beats === beats && !blind;
      seen.set(id, still ? known : { beats, since: now });
    }
    return others.filter(({ id }) => now - (seen.get(id)?.since ?? now) >= SILENT_MS);
  }

  async function removeSilent(silent: readonly Other[]): Promise<boolean> {
    if (silent.length === 0) return false;
    const params = [silent.map(({ id }) => id), silent.map(({ beats }) => beats)];
    const removed = await database.query(REMOVE, params, { deadlineMs: HEARTBEAT_DEADLINE_MS });
    if (removed.length > 0)
      logger.warn({ count: removed.length }, 'processes sent no heartbeat; their work is continued');
    return removed.length > 0;
  }

  /** Leases of dead processes, and leases that this process could not release or does not know of. */
  async function takeUpLeft(leases: readonly FoundLease[]): Promise<void> {
    const left = leases.filter(({ name, mine }) => (mine ? !life.holds.has(name) : takers.has(kindOf(name))));
    if (left.length === 0) return;
    for (const name of await release(left)) takers.get(kindOf(name))?.(name.slice(name.indexOf(':') + 1));
  }

  async function release(leases: readonly Lease[]): Promise<readonly string[]> {
    const params = [leases.map(({ name }) => name), leases.map(({ fence }) => fence)];
    const rows = await turns.run(() => database.query<{ name: string }>(RELEASE, params));
    return rows.map(({ name }) => name);
  }

  const heartbeats = repeat({
    clock,
    everyMs: HEARTBEAT_EVERY_MS,
    async run() {
      await beat();
      if (failing) for (const run of returning) run();
      failing = false;
    },
    onError(err) {
      if (!failing) logger.warn({ err }, 'the heartbeat failed; retrying');
      failing = true;
    },
  });

  return {
    /**
     * The name of this process. It changes if the process was removed, because a removed name never becomes valid
     * again.
     */
    get id(): string {
      return life.id;
    },
    /** Joins the other processes and starts the heartbeats. Throws as `query` does. */
    async start(): Promise<void> {
      await join(life);
      await heartbeats.runNow();
      heartbeats.start();
    },
    /**
     * Runs `work` under the lease. The signal passed to `work` aborts when the lease is lost, because this
     * process was removed or the subject of the lease was deleted, and when the caller's own signal aborts.
     * Throws what `work` throws, and as `query` does.
     */
    async hold<T>(
      name: string,
      work: (lease: Lease, signal: AbortSignal) => Promise<T>,
      signal?: AbortSignal,
    ): Promise<Held<T>> {
      const { id, holds, ending } = life;
      if (stopped || holds.has(name)) return { held: false };
      const hold: Hold = { lost: new AbortController() };
      holds.set(name, hold);
      try {
        const [taken] = await turns.run(() => database.query<{ fence: number }>(TAKE, [name, id]));
        if (taken === undefined) return { held: false };
        const lease = { name, fence: taken.fence };
        hold.fence = taken.fence;
        const signals = [ending.signal, hold.lost.signal, ...(signal === undefined ? [] : [signal])];
        try {
          return { held: true, value: await work(lease, AbortSignal.any(signals)) };
        } finally {
          await release([lease]).catch((err: unknown) =>
            logger.warn({ err, what: name }, 'a lease could not be released; retrying at the next heartbeat'),
          );
        }
      } finally {
        holds.delete(name);
      }
    },
    /**
     * Registers `take`, which is called with the id of each abandoned lease of a kind: its process died or could
     * not release it. Only one of the processes that registered for the kind is called. `take` must not throw.
     */
    onLeft(kind: string, take: (id: string) => void): void {
      takers.set(kind, take);
    },
    /** Registers `run`, which is called when the database answers again after a failure. `run` must not throw. */
    onReturn(run: () => void): void {
      returning.push(run);
    },
    /** Sends a heartbeat and checks those of the others, once. Throws as `query` does. */
    beat: heartbeats.runNow,
    /**
     * True while no other process can have a lease that this one holds. False after a stall or a pause of the machine,
     * until a heartbeat was answered: what is in memory may belong to others.
     */
    get isConfirmed(): boolean {
      return isConfirmed();
    },
    /** Resolves when `isConfirmed`, which takes a heartbeat if it is not. Throws as `query` does, and after `stop`. */
    async confirm(): Promise<void> {
      // One that began before the stall may still be under way, and proves nothing.
      while (!isConfirmed()) {
        if (stopped) throw new Error('this process has left the others');
        confirming ??= heartbeats.runNow().finally(() => {
          confirming = undefined;
        });
        await confirming;
      }
    },
    /** Leaves. All remaining leases are free at once. */
    async stop(): Promise<void> {
      if (stopped) return;
      stopped = true;
      await heartbeats.stop();
      await database
        .query(LEAVE, [life.id], { deadlineMs: HEARTBEAT_DEADLINE_MS })
        .catch((err: unknown) =>
          logger.warn({ err }, 'the leases of this process are not released for some seconds'),
        );
    },
  };
}

/** Ends leases whose subject was removed: their holders lose them and can no longer write under them. */
export async function revokeLeases(db: Queryable, names: readonly string[]): Promise<void> {
  await orm(db).delete(leases).where(isAnyOf(leases.name, names));
}

function newLife(): Life {
  return { id: randomUUID(), ending: new AbortController(), holds: new Map() };
}

function kindOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}
