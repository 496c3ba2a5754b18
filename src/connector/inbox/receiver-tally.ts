import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Refusal } from './answers.ts';

/**
 * What is counted: each rejection by its reason (for a timestamp outside the window, the milliseconds are its
 * claimed age, at most one day, because a rejected request proves nothing), `accepted` with the milliseconds to
 * the response, `age` with the milliseconds since a valid signature was made, `invalid` for a delivery without a
 * readable id, and `unread` for one with fields that could not be read.
 */
export type TallyKind = Refusal | 'accepted' | 'age' | 'invalid' | 'unread';

/** Counts what the receiver handles, for later diagnosis. */
export interface ReceiverTally {
  /** `subscriptionId` is empty if none was named or known. Costs no more than an addition. */
  note(subscriptionId: string, kind: TallyKind, ms?: number): void;
  /** Starts writing the counts to the database. */
  start(): void;
  /** Writes the remaining counts. Never rejects. */
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const KEPT_MS = 48 * HOUR_MS;
const EVERY_MS = 2_000;
const LONGEST_QUERY_MS = 2_000;
/** The age of a rejected request is not verified: the sum over millions of them must remain a number. */
const MAX_MS = 24 * HOUR_MS;

interface Tally {
  readonly hour: number;
  readonly subscriptionId: string;
  readonly kind: TallyKind;
  count: number;
  lastAt: number;
  totalMs: number;
  minMs: number;
  maxMs: number;
}

const ADD = `
INSERT INTO connector.receiver_tallies AS t
  (hour, subscription_id, kind, count, last_at, total_ms, min_ms, max_ms)
SELECT a.hour, a.subscription_id, a.kind, sum(a.count), max(a.last_at), sum(a.total_ms), min(a.min_ms), max(a.max_ms)
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
              $8::bigint[]) AS a(hour, subscription_id, kind, count, last_at, total_ms, min_ms, max_ms)
 GROUP BY a.hour, a.subscription_id, a.kind ORDER BY a.hour, a.subscription_id, a.kind
ON CONFLICT (hour, subscription_id, kind) DO UPDATE
   SET count = t.count + excluded.count, last_at = greatest(t.last_at, excluded.last_at),
       total_ms = t.total_ms + excluded.total_ms, min_ms = least(t.min_ms, excluded.min_ms),
       max_ms = greatest(t.max_ms, excluded.max_ms)`;

/**
 * Counts in memory and adds the sums to the database every 2 s, if there are any; while it is away they wait. What a
 * killed process had not added is lost, and a lost answer of the database may count twice: this is evidence, not truth.
 */
export function createReceiverTally(options: {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
}): ReceiverTally {
  const { database, clock, logger } = options;
  /** The current hour, by subscription and kind, so that no key is built for each delivery. */
  let current = new Map<string, Map<TallyKind, Tally>>();
  let currentHour = 0;
  /** Finished hours, and counts that could not be written, by hour, subscription and kind. */
  const past = new Map<string, Tally>();
  let cleanedHour = 0;

  function note(subscriptionId: string, kind: TallyKind, ms = 0): void {
    const now = clock.now();
    const hour = now - (now % HOUR_MS);
    if (hour !== currentHour) keep(take());
    currentHour = hour;
    const kinds = current.get(subscriptionId) ?? new Map<TallyKind, Tally>();
    if (kinds.size === 0) current.set(subscriptionId, kinds);
    const rounded = Math.round(Math.min(Math.max(ms, -MAX_MS), MAX_MS)) || 0;
    const tally = kinds.get(kind);
    if (tally === undefined) {
      const first = { totalMs: rounded, minMs: rounded, maxMs: rounded };
      kinds.set(kind, { hour, subscriptionId, kind, count: 1, lastAt: now, ...first });
      return;
    }
    tally.count += 1;
    tally.lastAt = now;
    tally.totalMs += rounded;
    if (rounded < tally.minMs) tally.minMs = rounded;
    if (rounded > tally.maxMs) tally.maxMs = rounded;
  }

  /** Returns all counts and starts over. */
  function take(): Tally[] {
    const rows = [...past.values(), ...[...current.values()].flatMap((kinds) => [...kinds.values()])];
    past.clear();
    current = new Map();
    return rows;
  }

  /** Sets rows aside until they can be written; rows that are too old to be useful are dropped. */
  function keep(rows: readonly Tally[]): void {
    const oldest = clock.now() - KEPT_MS;
    for (const row of rows.filter(({ hour }) => hour >= oldest)) {
      const key = `${row.hour}/${row.subscriptionId}/${row.kind}`;
      const kept = past.get(key);
      past.set(key, kept === undefined ? row : sum(kept, row));
    }
  }

  async function add(): Promise<void> {
    const rows = take();
    if (rows.length === 0) return;
    try {
      await addTallies(database, rows);
    } catch (err) {
      // Counts of an outage are the ones that are needed for diagnosis. A lost response makes some of them
      // count twice.
      keep(rows);
      throw err;
    }
  }

  /** Once in an hour. */
  async function deleteOld(): Promise<void> {
    const hour = clock.now() - (clock.now() % HOUR_MS);
    if (hour === cleanedHour) return;
    await database.query('DELETE FROM connector.receiver_tallies WHERE hour < $1::bigint', [hour - KEPT_MS], {
      deadlineMs: LONGEST_QUERY_MS,
    });
    cleanedHour = hour;
  }

  const adding = repeat({
    clock,
    everyMs: EVERY_MS,
    async run(stopping) {
      await add();
      if (!stopping.aborted) await deleteOld();
    },
    onError: (err) => logger.debug({ err }, 'the counts of the receiver could not be written; retrying'),
  });
  return {
    note,
    start: adding.start,
    async close() {
      await adding.stop();
      await add().catch(() => undefined);
    },
  };
}

function sum(a: Tally, b: Tally): Tally {
  return {
    ...a,
    count: a.count + b.count,
    lastAt: Math.max(a.lastAt, b.lastAt),
    totalMs: a.totalMs + b.totalMs,
    minMs: Math.min(a.minMs, b.minMs),
    maxMs: Math.max(a.maxMs, b.maxMs),
  };
}

async function addTallies(database: Queryable, rows: readonly Tally[]): Promise<void> {
  const column = <Key extends keyof Tally>(key: Key): Tally[Key][] => rows.map((row) => row[key]);
  const params = [
    column('hour'),
    column('subscriptionId'),
    column('kind'),
    column('count'),
    column('lastAt'),
    column('totalMs'),
    column('minMs'),
    column('maxMs'),
  ];
  await database.query(ADD, params, { deadlineMs: LONGEST_QUERY_MS });
}
