import type { Queryable } from '../../runtime/database/database.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { blamesData } from '../inbox/commit-deliveries.ts';
import { interpretBody } from '../inbox/interpret-body.ts';
import { readInbox, type StoredDelivery } from './read-inbox.ts';
import type { Scratch } from './scratch.ts';

/** What was read and merged. */
export interface RebuildCounts {
  /** Deliveries about messages. */
  deliveries: number;
  /** Those that still tell nothing: their fields do not fit. */
  misfits: number;
  /** Those that the database refuses. */
  refused: number;
}

export interface RebuildOptions {
  readonly database: Queryable;
  readonly scratch: Scratch;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: {
    readonly day: string;
    readonly deliveries: number;
    readonly done: number;
  }) => void;
}

/** Chunks after which the changes of the scratch tables are forgotten. */
const FORGET_EVERY = 50;

/**
 * Merges every kept delivery once more, as the code reads it today and by the rule of today, into the scratch tables.
 * Throws as `query` does, and what `signal` says when it is aborted.
 */
export async function rebuild(options: RebuildOptions): Promise<RebuildCounts> {
  const { database, scratch, signal, onProgress } = options;
  const counts: RebuildCounts = { deliveries: 0, misfits: 0, refused: 0 };
  let chunks = 0;
  for await (const { day, deliveries, done } of readInbox(database, signal)) {
    counts.deliveries += deliveries.length;
    const facts = deliveries.flatMap((delivery) => readFacts(delivery));
    counts.misfits += deliveries.length - facts.length;
    counts.refused += await merge(scratch.db, facts, deliveries.at(-1)?.receivedAt ?? 0);
    chunks += 1;
    if (chunks % FORGET_EVERY === 0) await scratch.forgetChanges();
    onProgress({ day, deliveries: counts.deliveries, done });
  }
  return counts;
}

function readFacts({ body, accountId, signedAt }: StoredDelivery): MessageFacts[] {
  const told = interpretBody(Buffer.from(body), { accountId, signedAt });
  return told.kind === 'message' ? [told.message] : [];
}

/** Merges what can be merged; resolves with the number of facts that the database refuses, found by halving. */
async function merge(db: Queryable, facts: readonly MessageFacts[], now: number): Promise<number> {
  if (facts.length === 0) return 0;
  try {
    await commitBatch(db, { now, messages: facts });
    return 0;
  } catch (error) {
    if (!blamesData(error)) throw error;
    if (facts.length === 1) return 1;
    const middle = Math.ceil(facts.length / 2);
    return (await merge(db, facts.slice(0, middle), now)) + (await merge(db, facts.slice(middle), now));
  }
}
