import type { Clock } from '../../runtime/clock/clock.ts';
import { type Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import { isConnectionFailure, type Queryable, sqlState } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type BatchResult, commitBatch } from '../db/commit-batch.ts';
import type { RawDelivery } from '../db/facts.ts';

export interface CommitDeliveriesOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Total time. The first attempt gets half of it, so that time is left for a second one. */
  readonly deadline: Deadline;
  /** Called after each commit. */
  readonly onCommitted?: (result: BatchResult, deliveries: readonly RawDelivery[]) => void;
  /** Called for each statement that failed. */
  readonly onFailed?: (kind: 'retried' | 'split' | 'given_up') => void;
}

/** No event id is longer. */
const LONGEST_ID = 255;

/**
 * SQLSTATE classes caused by the data: cardinality, data, integrity, and a program limit such as the size of
 * a key.
 */
const DATA_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '54']);

/**
 * Commits deliveries together. If the database rejects a batch because of its data, the batch is halved until
 * the culprit is found; that delivery is only stored in the raw log, as `unmergeable`, so that one bad
 * delivery does not affect the others. After a connection failure the whole batch is retried once; the retry
 * is safe even if the first commit succeeded and only its response was lost. Resolves with the deliveries
 * that could not be stored; never rejects.
 */
export async function commitDeliveries(
  options: CommitDeliveriesOptions,
  deliveries: readonly RawDelivery[],
): Promise<ReadonlySet<RawDelivery>> {
  const failed = new Set<RawDelivery>();
  /** The delivery that was given, by what is stored of it as received. */
  const given = new Map<RawDelivery, RawDelivery>();
  const open: RawDelivery[][] = [[...deliveries]];
  for (let batch = open.pop(); batch !== undefined; batch = open.pop()) {
    const error = await tryTwice(options, batch);
    if (error === undefined) continue;
    const [first] = batch;
    if (
      !blamesData(error) ||
      first === undefined ||
      (batch.length === 1 && first.outcome === 'unmergeable')
    ) {
      options.onFailed?.('given_up');
      options.logger.error({ err: error, count: batch.length }, 'deliveries could not be stored');
      for (const delivery of batch) failed.add(given.get(delivery) ?? delivery);
    } else if (batch.length > 1) {
      options.onFailed?.('split');
      const middle = Math.ceil(batch.length / 2);
      open.push(batch.slice(middle), batch.slice(0, middle));
    } else {
      options.logger.error(
        { err: error, event: first.event },
        'a delivery could not be merged and was stored as received',
      );
      const raw = withoutFacts(first, error);
      given.set(raw, first);
      open.push([raw]);
    }
  }
  return failed;
}

/** Commits a batch, and retries it once if the error may be temporary. Resolves with the last error. */
async function tryTwice(options: CommitDeliveriesOptions, batch: readonly RawDelivery[]): Promise<unknown> {
  const error = await tryOnce(options, batch, options.deadline.leftMs / 2);
  // A rejected single delivery gets a second attempt too: a partition attached in the meantime also raises
  // class 23.
  if (error === undefined || (blamesData(error) && batch.length > 1)) return error;
  if (!blamesData(error) && !isConnectionFailure(error)) return error;
  options.onFailed?.('retried');
  return await tryOnce(options, batch, options.deadline.leftMs);
}

async function tryOnce(
  options: CommitDeliveriesOptions,
  batch: readonly RawDelivery[],
  deadlineMs: number,
): Promise<unknown> {
  const { database, clock } = options;
  if (deadlineMs === 0) return new DeadlinePassed();
  try {
    const result = await commitBatch(database, { now: clock.now(), deliveries: batch }, { deadlineMs });
    options.onCommitted?.(result, batch);
    return undefined;
  } catch (error) {
    return error ?? new Error('a commit failed without a reason');
  }
}

/**
 * Whether a batch was rejected because of its data. An error without a SQLSTATE that is not a connection
 * error occurred while the parameters were being encoded.
 */
export function blamesData(error: unknown): boolean {
  if (isConnectionFailure(error)) return false;
  const state = sqlState(error);
  return state === undefined || DATA_CLASSES.has(state.slice(0, 2));
}

function withoutFacts(delivery: RawDelivery, error: unknown): RawDelivery {
  const { message, connection, ...raw } = delivery;
  const reason = `rejected by the database: ${sqlState(error) ?? 'a value that cannot be encoded'}`;
  const names = {
    connectionId: shortId((message ?? connection)?.connectionId),
    messageId: shortId(message?.messageId),
  };
  return { ...raw, names, outcome: 'unmergeable', reason };
}

/**
 * Limits an id to a length that no index rejects; a longer id may be the reason why the database rejected the
 * row.
 */
function shortId(id: string | undefined): string | null {
  return id === undefined || id.length > LONGEST_ID ? null : id;
}
