import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { ConsumerRow } from './consumer-store.ts';
import { describeFailure } from './describe-failure.ts';
import type { Item } from './partition.ts';
import { type CallEnd, LONGEST_ASKED_MS } from './sinks/sink.ts';

export interface FailuresOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  readonly row: ConsumerRow;
  /** The permanent key of the change with this number. */
  readonly keyOf: (seq: number) => string;
}

type Failure = Pick<Extract<CallEnd, { kind: 'failed' | 'late' }>, 'error' | 'retryAfterMs'>;

/** The wait after a failed call of a change. */
const WAIT = { firstMs: 1_000, longestMs: 2 * 60_000, spread: 0.2 };

/** What failed calls of a consumer lead to: a change is retried later, or set aside. */
export function createFailures({ clock, logger, random, row, keyOf }: FailuresOptions) {
  const isOrdered = !('ordered' in row.settings) || row.settings.ordered;

  /** Has it written that so many calls of the change have failed. Returns the wait before the next one. */
  function park(item: Item, attempts: number, { error, retryAfterMs = 0 }: Failure, due: boolean): number {
    const asked = Math.min(retryAfterMs, LONGEST_ASKED_MS);
    const delayMs = Math.max(backOffMs(attempts, WAIT, random()), asked);
    const now = clock.now();
    const lastError = describeFailure(error);
    item.key.partition.park(item, { attempts, dueAt: now + delayMs, lastError }, { now, due });
    return delayMs;
  }

  function giveUp(item: Item, error: unknown): void {
    logger.error(
      details(item, error),
      'the consumer did not accept a change in its last attempt; it is now a dead letter',
    );
    item.key.partition.setAside(item, describeFailure(error));
  }

  function details({ key: { connectionId }, seq, attempts }: Item, error: unknown) {
    const named = { consumer: row.name, connectionId, changeId: keyOf(seq) };
    return { ...describeFault(error), ...named, attempt: attempts };
  }

  return {
    /** The call of these changes has failed. */
    fail(items: readonly Item[], end: Failure): void {
      for (const item of isOrdered ? items.slice(0, 1) : items) {
        item.attempts += 1;
        // After that of a batch, each change has a call of its own.
        if (item.attempts >= row.attempts && items.length === 1) {
          giveUp(item, end.error);
          continue;
        }
        if (!isOrdered) item.key.partition.separate(item);
        const delayMs = park(item, item.attempts, end, false);
        // The message may repeat what a customer wrote, so only the dead letter has it.
        logger.warn(
          { ...details(item, end.error), delayMs },
          'the consumer did not accept a change; it is retried, and its connection waits',
        );
      }
    },
    /** The previous owner may have died of this change: the attempt counts unless it ends well. */
    suspect(item: Item): void {
      const attempts = item.attempts + 1;
      // A dead letter that is replayed has one more call.
      if (attempts > Math.max(row.attempts, item.before + 1)) giveUp(item, new ProcessEnded());
      else park(item, attempts, { error: new ProcessEnded() }, true);
    },
    /** The call of a change did not take place: an attempt that was written ahead does not count. */
    acquit(item: Item): void {
      const { parked, partition } = item.key;
      if (parked?.seq !== item.seq || parked.attempts === item.attempts) return;
      const now = clock.now();
      partition.park(item, { ...parked, attempts: item.attempts, dueAt: now }, { now, due: true });
    },
  };
}

/** Stands for the error of a process that died. */
class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';

  constructor() {
    super('the process ended while it dispatched');
  }
}
