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
  readonly count: number;
  readonly lastAt: number;
  readonly totalMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

const COLUMNS = ['hour', 'subscriptionId', 'kind', 'count', 'lastAt', 'totalMs', 'minMs', 'maxMs'] as const;
const ADD = `
INSERT INTO connector.receiver_tallies AS t
  (hour, subscription_id, kind, count, last_at, total_ms, min_ms, max_ms)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                     $8::bigint[]) ORDER BY 1, 2, 3
ON CONFLICT (hour, subscription_id, kind) DO UPDATE
   SET count = t.count + excluded.count, last_at = greatest(t.last_at, excluded.last_at),
       total_ms = t.total_ms + excluded.total_ms, min_ms = least(t.min_ms, excluded.min_ms),
       max_ms = greatest(t.max_ms, excluded.max_ms)`;

/** Counts what the receiver handles, for later diagnosis. */
export type ReceiverTally = ReturnType<typeof createReceiverTally>;

/**
 * Counts in memory and adds the sums to the database every 2 s, if there are any; while it is away they wait. What a
 * killed process had not added is lost, and a lost answer of the database may count twice: this is evidence, not truth.
 */
export function createReceiverTally(options: {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { database, clock, logger } = options;
  /** What was not written yet, by hour, subscription and kind. */
  let tallies = new Map<string, Tally>();
  let cleanedHour = 0;

  function count(row: Tally): void {
    const key = `${row.hour}/${row.subscriptionId}/${row.kind}`;
    const known = tallies.get(key);
    tallies.set(key, known === undefined ? row : sum(known, row));
  }

  async function add(): Promise<void> {
    const rows = [...tallies.values()];
    if (rows.length === 0) return;
    tallies = new Map();
    const columns = COLUMNS.map((key) => rows.map((row) => row[key]));
    try {
      await database.query(ADD, columns, { deadlineMs: LONGEST_QUERY_MS });
    } catch (err) {
      // Counts of an outage are the ones that are needed for diagnosis, unless they are too old to be useful. A lost
      // response makes some of them count twice.
      const oldest = clock.now() - KEPT_MS;
      for (const row of rows) if (row.hour >= oldest) count(row);
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
    /** `subscriptionId` is empty if none was named or known. Costs no more than a look into a map. */
    note(subscriptionId: string, kind: TallyKind, ms = 0): void {
      const now = clock.now();
      const length = Math.round(Math.min(Math.max(ms, -MAX_MS), MAX_MS)) || 0;
      const lengths = { totalMs: length, minMs: length, maxMs: length };
      count({ hour: now - (now % HOUR_MS), subscriptionId, kind, count: 1, lastAt: now, ...lengths });
    },
    /** Starts writing the counts to the database. */
    start: adding.start,
    /** Writes the remaining counts. Never rejects. */
    async close(): Promise<void> {
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
