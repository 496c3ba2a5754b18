import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { readInboxSince } from '../db/inbox-partitions.ts';
import { applyRebuilt, numberChanges } from './apply.ts';
import { comparePage, type DifferenceKind, type MessageDifference, type MessageKey } from './compare.ts';
import { type RebuildCounts, rebuild } from './rebuild.ts';
import { makeScratch, type Scratch } from './scratch.ts';

export interface ReplayOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Brings into the live messages what the merge would add. Off: nothing live is written. */
  readonly apply: boolean;
  readonly signal: AbortSignal;
  /** Told of each message that differs, in the order of their ids. */
  readonly onDifference: (difference: MessageDifference) => void;
  readonly onProgress: (progress: ReplayProgress) => void;
}

/** How far a replay is. */
export type ReplayProgress =
  | { readonly step: 'reading'; readonly day: string; readonly deliveries: number; readonly done: number }
  | { readonly step: 'comparing'; readonly messages: number };

export interface ReplaySummary extends RebuildCounts {
  /** When the oldest kept day begins, epoch ms; null: there is none. */
  readonly keptSince: number | null;
  /** Messages that the kept days tell of. */
  readonly messages: number;
  readonly different: Readonly<Record<DifferenceKind, number>>;
  /** Live messages that were changed. */
  readonly applied: number;
}

/** What the merge would bring in. */
const APPLICABLE: ReadonlySet<DifferenceKind> = new Set(['missing', 'behind']);

/**
 * Merges what the kept days of the raw inbox tell into tables of their own, compares these with the live messages
 * and, if asked to, brings in what is missing. The live tables are read in short statements, so the connector may
 * run meanwhile. Memory is bounded, whatever the size of the inbox; the disk must hold the rebuilt messages once
 * more. Throws as `query` does, and what `signal` says when it is aborted; the scratch tables are gone then, too.
 */
export async function replay(options: ReplayOptions): Promise<ReplaySummary> {
  const { database, clock, signal, onProgress } = options;
  const begunAt = clock.now();
  const keptSince = await readInboxSince(database);
  const scratch = await makeScratch(database, clock);
  try {
    const counts = await rebuild({
      database,
      scratch,
      signal,
      onProgress: (progress) => onProgress({ step: 'reading', ...progress }),
    });
    await database.query(`ANALYZE ${scratch.schema}.messages`, [], { deadlineMs: 60_000 });
    const compared = await compareAll(options, scratch, { keptSince: keptSince ?? 0, begunAt });
    return { ...counts, keptSince, ...compared };
  } finally {
    await scratch.drop();
  }
}

async function compareAll(
  options: ReplayOptions,
  scratch: Scratch,
  times: { readonly keptSince: number; readonly begunAt: number },
): Promise<Pick<ReplaySummary, 'messages' | 'different' | 'applied'>> {
  const { database, clock, apply, signal, onDifference, onProgress } = options;
  const different = { missing: 0, behind: 0, differs: 0, unexplained: 0 };
  let messages = 0;
  let applied = 0;
  for (let after: MessageKey | null = null; ; ) {
    signal.throwIfAborted();
    const page = await comparePage(database, { scratch: scratch.schema, after, ...times });
    if (page.last === null) break;
    messages += page.compared;
    for (const difference of page.differences) {
      different[difference.kind] += 1;
      onDifference(difference);
    }
    const wanted = page.differences.filter(({ kind }) => APPLICABLE.has(kind));
    if (apply) applied += await applyRebuilt(database, scratch, wanted, () => clock.now());
    onProgress({ step: 'comparing', messages });
    after = page.last;
  }
  if (applied > 0) await numberChanges(database);
  return { messages, different, applied };
}
