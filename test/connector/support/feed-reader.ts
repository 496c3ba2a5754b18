import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import { within } from '../../../src/runtime/clock/deadline.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { polled, T0 } from './event-fixtures.ts';

/** Makes a change for each of these messages, which a poll listed. */
export const writeMessages = (db: Queryable, ids: readonly string[], connection = 'connection') =>
  commitBatch(db, { now: T0, messages: ids.map((id) => polled(connection, id)) });

/** Collects what a subscription hands over; `count` waits until so many came. */
export function collect(): {
  take: (changes: readonly Change[]) => void;
  seen: Change[];
  count(n: number): Promise<void>;
} {
  const seen: Change[] = [];
  const heard = new EventTarget();
  return {
    seen,
    take: (changes) => {
      seen.push(...changes);
      heard.dispatchEvent(new Event('more'));
    },
    count: async (n) => {
      while (seen.length < n) {
        const more = new Promise((resolve) => heard.addEventListener('more', resolve, { once: true }));
        await within(systemClock, 20_000, more, () => new Error(`only ${seen.length} of ${n} changes came`));
      }
    },
  };
}

export const seqs = <Seq>(changes: readonly { readonly seq: Seq }[]): Seq[] => changes.map(({ seq }) => seq);
