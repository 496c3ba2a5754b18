import { READER_VERSION } from '../../contract/service/read-fields.ts';
import type { Coverage, Gap } from '../../patterns/reconcile-walk.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { KnownVersions } from '../db/connection-listing.ts';
import { OVERLAP_MS } from './poll-context.ts';

/**
 * What a gap belongs to: the coverage of an account, one connection that became visible again, a sweep, or a day that
 * contains records which could not be read.
 */
export type GapKind = 'coverage' | 'visibility' | 'sweep' | 'unread';

/** A gap that is not part of the coverage, with its connection or horizon. */
export interface SlottedGap {
  readonly slot: string;
  readonly gap: Gap;
}

/** The polling progress of one account. Times are service time, epoch milliseconds. */
export interface Progress {
  readonly coverage: Coverage;
  readonly visibility: readonly SlottedGap[];
  readonly sweeps: readonly SlottedGap[];
  /** Days of the list with records that were left out; `restarts` is their number in the page that was read last. */
  readonly unread: readonly SlottedGap[];
  /** When each horizon of open statuses was last swept. */
  readonly swept: ReadonlyMap<string, Moment>;
  /** Something that polling found has not been judged yet. */
  readonly repairsWait: boolean;
  /** Where the history of connections begins. Without one, it has no beginning. */
  readonly historyFrom: ReadonlyMap<string, number>;
}

/** What a poll needs to know to see that nothing is due: most polls need no more. */
export type KnownBeforePoll = Omit<Progress, 'historyFrom'>;

/** An instant on our clock and on the service's clock, which may differ. */
export interface Moment {
  readonly at: number;
  readonly reference: number;
}

interface GapRow extends Gap {
  readonly kind: GapKind;
  readonly slot: string;
}

interface ProgressRow {
  readonly watermark: number | null;
  readonly gaps: readonly GapRow[] | null;
  readonly swept: readonly (Moment & { readonly horizon: string })[] | null;
  readonly repairsWait: boolean;
  readonly historyFrom?: Readonly<Record<string, number>> | null;
}

const COMMON = `
  select (select watermark from connector.coverage where account_id = $1) as watermark,
         (select json_agg(g order by g.kind, g.opened_at, g.slot)
            from (select kind, slot, top, floor, cursor, next_top as "nextTop", restarts, opened_at
                    from connector.gaps where account_id = $1) g) as gaps,
         (select json_agg(json_build_object('horizon', horizon, 'at', last_at, 'reference', last_reference))
            from connector.sweeps where account_id = $1) as swept,
         exists (select from connector.repairs where account_id = $1) as "repairsWait"`;

const READ = `${COMMON},
         (select json_object_agg(connection_id, history_from) from connector.connections
           where account_id = $1 and history_from is not null) as "historyFrom"`;

/** The progress with the versions of `readKnownVersions`, in one statement, because most polls need no other. */
const READ_WITH_VERSIONS = `${COMMON},
         (select json_object_agg(connection_id, version) from connector.connections
           where account_id = $1 or listed_at is null) as versions`;

export async function readProgress(db: Queryable, accountId: string): Promise<Progress> {
  const [row] = await db.query<ProgressRow>(READ, [accountId]);
  return toProgress(row);
}

/** Reads what a poll compares with the answers of the service, before it requests them. */
export async function readBeforePoll(
  db: Queryable,
  accountId: string,
): Promise<{ readonly progress: KnownBeforePoll; readonly known: KnownVersions }> {
  type Row = ProgressRow & { readonly versions: Readonly<Record<string, number>> | null };
  const [row] = await db.query<Row>(READ_WITH_VERSIONS, [accountId]);
  return { progress: toProgress(row), known: new Map(Object.entries(row?.versions ?? {})) };
}

function toProgress(row: ProgressRow | undefined): Progress {
  const gaps = row?.gaps ?? [];
  const ofKind = (kind: GapKind): SlottedGap[] =>
    gaps
      .filter((gap) => gap.kind === kind)
      .map(({ slot, top, floor, cursor, nextTop, restarts }) => ({
        slot,
        gap: { top, floor, cursor, nextTop, restarts },
      }));
  const covering = ofKind('coverage').sort((a, b) => Number(a.slot) - Number(b.slot));
  return {
    coverage: { watermark: row?.watermark ?? null, gaps: covering.map(({ gap }) => gap) },
    visibility: ofKind('visibility'),
    sweeps: ofKind('sweep'),
    unread: ofKind('unread'),
    swept: new Map((row?.swept ?? []).map(({ horizon, ...moment }) => [horizon, moment])),
    repairsWait: row?.repairsWait ?? false,
    historyFrom: new Map(Object.entries(row?.historyFrom ?? {})),
  };
}

/** What is known about the current time when polling continues. Epoch milliseconds. */
export interface PollTimes {
  /** Our clock. */
  readonly now: number;
  /** No message created since the last successful poll has an earlier date, unless its date is wrong. */
  readonly createdSince: number;
}

/**
 * Removes impossible times from the progress. A watermark in the future of our clock is discarded: it came from
 * a message or a clock that was wrong, and may have hidden messages since. A watermark that is only later than
 * anything that can have arrived since the last poll is lowered to that time: the service's clock was set back
 * at some point.
 */
export function boundProgress<Known extends KnownBeforePoll>(
  progress: Known,
  { now, createdSince }: PollTimes,
): Known {
  const believed = (time: number | null): number | null => {
    if (time === null || time > now + OVERLAP_MS) return null;
    return time > createdSince + OVERLAP_MS ? createdSince : time;
  };
  const bounded = (gap: Gap): Gap => ({
    ...gap,
    floor: believed(gap.floor),
    nextTop: believed(gap.nextTop),
  });
  const boundedSlot = ({ slot, gap }: SlottedGap): SlottedGap => ({ slot, gap: bounded(gap) });
  return {
    ...progress,
    coverage: {
      watermark: believed(progress.coverage.watermark),
      gaps: progress.coverage.gaps.map(bounded),
    },
    visibility: progress.visibility.map(boundedSlot),
    sweeps: progress.sweeps.map(boundedSlot),
  };
}

/**
 * What a page changes in the progress of its account; stored in the same statement as the messages of the page.
 */
export interface ProgressChange {
  readonly kind: GapKind;
  /** The new watermark. Absent if it does not change. */
  readonly watermark?: number | null;
  readonly saved: readonly SlottedGap[];
  /** Slots of gaps that are closed. */
  readonly closed: readonly string[];
  /** Horizons whose sweep has ended, and the service time at which it began. */
  readonly swept: readonly { readonly horizon: string; readonly reference: number }[];
}

/** Coverage never has more gaps than this, so storing it clears the slots up to this number. */
const MAX_COVERAGE_GAPS = 8;

/** The change that stores a new state of the coverage. */
export function coverageChange(coverage: Coverage): ProgressChange {
  const saved = coverage.gaps.map((gap, index) => ({ slot: String(index), gap }));
  const closed = Array.from({ length: MAX_COVERAGE_GAPS }, (_, index) => String(index)).slice(saved.length);
  return { kind: 'coverage', watermark: coverage.watermark, saved, closed, swept: [] };
}

/** The change that stores a new state of one other gap; null closes it. */
export function gapChange(kind: Exclude<GapKind, 'coverage'>, slot: string, gap: Gap | null): ProgressChange {
  return {
    kind,
    saved: gap === null ? [] : [{ slot, gap }],
    closed: gap === null ? [slot] : [],
    swept: [],
  };
}

const DAY_MS = 86_400_000;

/** The change that stores that records around `time` (epoch ms) could not be read. */
export function unreadChange(time: number, count: number): ProgressChange {
  const floor = Math.floor(time / DAY_MS) * DAY_MS;
  const gap = { top: floor + DAY_MS, floor, cursor: null, nextTop: null, restarts: count };
  return gapChange('unread', `${READER_VERSION}:${new Date(floor).toISOString().slice(0, 10)}`, gap);
}

/** Slots of days that an earlier version of the reader left incomplete, and the first of these days; null if none. */
export function outdatedDays(
  progress: Progress,
): { readonly slots: string[]; readonly floor: number } | null {
  const outdated = progress.unread.filter(({ slot }) => !slot.startsWith(`${READER_VERSION}:`));
  if (outdated.length === 0) return null;
  const floor = Math.min(...outdated.map(({ gap }) => gap.floor ?? 0));
  return { slots: outdated.map(({ slot }) => slot), floor };
}

/**
 * The change as CTEs for a fenced statement that has a CTE `guard`. The text is the same for every change, so
 * that it is prepared once. Uses `$1` to `$14`.
 */
export const PROGRESS_CTES = `
saved_coverage AS (
  INSERT INTO connector.coverage AS c (account_id, watermark)
  SELECT $1::text, $3::bigint WHERE $14::boolean AND EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id) DO UPDATE SET watermark = excluded.watermark
   WHERE excluded.watermark IS DISTINCT FROM c.watermark
),
closed_gaps AS (
  DELETE FROM connector.gaps g
   WHERE g.account_id = $1::text AND g.kind = $4::text AND g.slot = ANY ($5::text[]) AND EXISTS (SELECT FROM guard)
),
saved_gaps AS (
  INSERT INTO connector.gaps (account_id, kind, slot, top, floor, cursor, next_top, restarts, opened_at)
  SELECT $1::text, $4::text, g.slot, g.top, g.floor, g.cursor, g.next_top, g.restarts, $2::bigint
    FROM unnest($6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::integer[])
      AS g(slot, top, floor, cursor, next_top, restarts)
   WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id, kind, slot) DO UPDATE
     SET top = excluded.top, floor = excluded.floor, cursor = excluded.cursor, next_top = excluded.next_top,
         restarts = excluded.restarts
),
saved_sweeps AS (
  INSERT INTO connector.sweeps (account_id, horizon, last_at, last_reference)
  SELECT $1::text, w.horizon, $2::bigint, w.reference
    FROM unnest($12::text[], $13::bigint[]) AS w(horizon, reference)
   WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id, horizon) DO UPDATE
     SET last_at = excluded.last_at, last_reference = excluded.last_reference
)`;

/** Number of parameters of `PROGRESS_CTES`. */
export const PROGRESS_PARAMS = 14;

/** The parameters of `PROGRESS_CTES`. */
export function progressParams(accountId: string, now: number, change: ProgressChange): readonly unknown[] {
  const { saved, swept } = change;
  return [
    accountId,
    now,
    change.watermark ?? null,
    change.kind,
    change.closed,
    saved.map(({ slot }) => slot),
    saved.map(({ gap }) => gap.top),
    saved.map(({ gap }) => gap.floor),
    saved.map(({ gap }) => gap.cursor),
    saved.map(({ gap }) => gap.nextTop),
    saved.map(({ gap }) => gap.restarts),
    swept.map(({ horizon }) => horizon),
    swept.map(({ reference }) => reference),
    change.watermark !== undefined,
  ];
}
