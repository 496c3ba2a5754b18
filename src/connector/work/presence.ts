import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Lease } from '../db/lease.ts';

/** Between two signs of life of a process, which is also how often it looks for those of the others. */
const LOOK_EVERY_MS = 500;
/** A process that gave no sign for so long is taken for dead. With the time between looks: all it held is free within 5 s. */
export const SILENT_MS = 3_500;
/** Whoever could not look for so long cannot tell a silent process from its own blindness, and starts to watch anew. */
const BLIND_MS = 2_000;
const LOOK_DEADLINE_MS = 2_000;

export interface PresenceOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process polls and sends; false: it only serves requests. */
  readonly works: boolean;
  /** Names the machine. Default: its host name. */
  readonly host?: string;
}

/** What became of the work: done, or not begun because somebody else does it. */
export type Held<T> = { readonly held: true; readonly value: T } | { readonly held: false };

/**
 * The life of this process among the others that share the database. Its signs of life hold everything that it
 * does; when they end, another process removes it from the living, and all that it held is free at once.
 */
export interface Presence {
  /** The name of this process. It changes when the process was taken for dead, since nothing revives a name. */
  readonly id: string;
  /** Joins the living, and gives signs of life from now on. Throws as `query` does. */
  start(): Promise<void>;
  /**
   * Runs `work` while holding the lease. The signal given to `work` aborts once the lease is lost, because this
   * process was taken for dead or what the lease is about was removed, or with the caller's own. Throws what
   * `work` throws, and as `query` does.
   */
  hold<T>(
    name: string,
    work: (lease: Lease, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<Held<T>>;
  /**
   * Has `take` called with the id of each lease of a kind that its holder left behind: its process died, or could
   * not release it. One of the processes that take this kind is called. `take` must not throw.
   */
  onLeft(kind: string, take: (id: string) => void): void;
  /** Has `run` called when the database answers again after it did not. `run` must not throw. */
  onReturn(run: () => void): void;
  /** Gives a sign of life and looks for those of the others, once. Throws as `query` does. */
  look(): Promise<void>;
  /** Leaves the living. What is still held is free at once. */
  stop(): Promise<void>;
}

/** From joining the living to being taken for dead. */
interface Life {
  readonly id: string;
  readonly ending: AbortController;
  /** What is held or about to be taken, by name. */
  readonly holds: Map<string, Hold>;
}

interface Hold {
  /** Undefined while it is being taken. */
  fence?: number;
  readonly lost: AbortController;
}

interface Other {
  readonly id: string;
  readonly host: string;
  readonly beats: number;
  readonly beatAt: number;
}

interface FoundLease {
  readonly name: string;
  readonly fence: number;
  readonly mine: boolean;
}

const JOIN = `
INSERT INTO connector.processes (id, host, works, started_at, beat_at)
VALUES ($1, $2, $3::boolean, $4::bigint, $4::bigint) ON CONFLICT DO NOTHING`;

const LOOK = `
WITH beaten AS (
  UPDATE connector.processes SET beats = beats + 1, beat_at = $2::bigint WHERE id = $1 RETURNING id
)
SELECT EXISTS (SELECT FROM beaten) AS alive,
       ARRAY(SELECT to_json(o) FROM (
         SELECT id, host, beats, beat_at AS "beatAt" FROM connector.processes WHERE id <> $1) o) AS others,
       ARRAY(SELECT to_json(f) FROM (
         SELECT l.name, l.fence, l.owner = $1 AS mine FROM connector.leases l
          WHERE l.owner = $1 OR NOT EXISTS (SELECT FROM connector.processes p WHERE p.id = l.owner)) f) AS leases`;

/** Whoever gave a sign of life since it was looked at is not removed. */
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
 * Signs of life are counted in the database, and each process watches the counts of the others on its own
 * steady clock, so it does not matter how far clocks lie apart or how they are set. A removed process learns of it
 * with its next sign: it gives up what it does and joins again under another name.
 */
export function createPresence(options: PresenceOptions): Presence {
  const { database, clock, logger, works, host = hostname() } = options;
  const takers = new Map<string, (id: string) => void>();
  const returning: (() => void)[] = [];
  /** The counts of the others, and since when they stand still. */
  const seen = new Map<string, { readonly beats: number; readonly since: number }>();
  let life: Life = newLife();
  let lookedAt: number | undefined;
  let failing = false;
  let stopped = false;

  async function join(joining: Life): Promise<void> {
    await database.query(JOIN, [joining.id, host, works, clock.now()], { deadlineMs: LOOK_DEADLINE_MS });
    life = joining;
  }

  async function look(): Promise<void> {
    for (let again = true; again && !stopped; ) {
      const looker = life;
      // What is being taken now may be taken after this look: its absence means nothing.
      const held = [...looker.holds].flatMap(([name, { fence, lost }]) =>
        fence === undefined ? [] : [{ name, fence, lost }],
      );
      const [row] = await database.query<{
        alive: boolean;
        others: readonly Other[];
        leases: readonly FoundLease[];
      }>(LOOK, [looker.id, clock.now()], { deadlineMs: LOOK_DEADLINE_MS });
      if (row === undefined) throw new Error('a look at the living processes brought no row');
      if (!row.alive) await beginAnew(looker);
      for (const { name, fence, lost } of held) {
        const kept = row.leases.some((lease) => lease.mine && lease.name === name && lease.fence === fence);
        if (!kept) lost.abort();
      }
      await takeUpLeft(row.leases);
      again = await removeSilent(findSilent(row.others));
    }
  }

  /** Others may have what this process held by now, and every write of it is refused. */
  async function beginAnew(dead: Life): Promise<void> {
    dead.ending.abort(new Error('this process was taken for dead'));
    await join(newLife());
    logger.warn('this process gave no sign of life for a while and was taken for dead; it begins anew');
  }

  function findSilent(others: readonly Other[]): readonly Other[] {
    const now = clock.elapsed();
    const blind = lookedAt !== undefined && now - lookedAt > BLIND_MS;
    lookedAt = now;
    const before = new Map(seen);
    seen.clear();
    for (const { id, beats, beatAt, host: machine } of others) {
      const known = before.get(id);
      // On the same machine there is one clock, so a process that starts there need not watch the silence from its beginning.
      const silentFor = known === undefined && !blind && machine === host ? clock.now() - beatAt : 0;
      const still = known?.beats === beats && !blind;
      seen.set(id, still ? known : { beats, since: now - Math.max(0, silentFor) });
    }
    return others.filter(({ id }) => now - (seen.get(id)?.since ?? now) >= SILENT_MS);
  }

  async function removeSilent(silent: readonly Other[]): Promise<boolean> {
    if (silent.length === 0) return false;
    const params = [silent.map(({ id }) => id), silent.map(({ beats }) => beats)];
    const removed = await database.query(REMOVE, params, { deadlineMs: LOOK_DEADLINE_MS });
    if (removed.length > 0)
      logger.warn({ count: removed.length }, 'processes gave no sign of life; what they did is taken up');
    return removed.length > 0;
  }

  /** Leases of the dead, and those that this process could not release or does not know it has. */
  async function takeUpLeft(leases: readonly FoundLease[]): Promise<void> {
    const left = leases.filter(
      ({ name, mine }) => takers.has(kindOf(name)) && !(mine && life.holds.has(name)),
    );
    if (left.length === 0) return;
    for (const name of await release(left)) takers.get(kindOf(name))?.(name.slice(name.indexOf(':') + 1));
  }

  async function release(leases: readonly Lease[]): Promise<readonly string[]> {
    const params = [leases.map(({ name }) => name), leases.map(({ fence }) => fence)];
    const rows = await database.query<{ name: string }>(RELEASE, params);
    return rows.map(({ name }) => name);
  }

  const looks = repeat({
    clock,
    everyMs: LOOK_EVERY_MS,
    async run() {
      await look();
      if (failing) for (const run of returning) run();
      failing = false;
    },
    onError(err) {
      if (!failing) logger.warn({ err }, 'no sign of life could be given; trying again');
      failing = true;
    },
  });

  return {
    get id() {
      return life.id;
    },
    async start() {
      await join(life);
      await looks.runNow();
      looks.start();
    },
    async hold(name, work, signal) {
      const { id, holds, ending } = life;
      if (stopped || holds.has(name)) return { held: false };
      const hold: Hold = { lost: new AbortController() };
      holds.set(name, hold);
      try {
        const [taken] = await database.query<{ fence: number }>(TAKE, [name, id]);
        if (taken === undefined) return { held: false };
        const lease = { name, fence: taken.fence };
        hold.fence = taken.fence;
        const signals = [ending.signal, hold.lost.signal, ...(signal === undefined ? [] : [signal])];
        try {
          return { held: true, value: await work(lease, AbortSignal.any(signals)) };
        } finally {
          await release([lease]).catch((err: unknown) =>
            logger.warn({ err, what: name }, 'a lease could not be released; the next sign of life does it'),
          );
        }
      } finally {
        holds.delete(name);
      }
    },
    onLeft(kind, take) {
      takers.set(kind, take);
    },
    onReturn(run) {
      returning.push(run);
    },
    look: looks.runNow,
    async stop() {
      if (stopped) return;
      stopped = true;
      await looks.stop();
      await database
        .query(LEAVE, [life.id], { deadlineMs: LOOK_DEADLINE_MS })
        .catch((err: unknown) => logger.warn({ err }, 'what this process held stays taken for some seconds'));
    },
  };
}

function newLife(): Life {
  return { id: randomUUID(), ending: new AbortController(), holds: new Map() };
}

function kindOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}
