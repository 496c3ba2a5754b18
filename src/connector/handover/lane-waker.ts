import type { Logger } from '../../runtime/logger/logger.ts';
import type { Queues } from '../../runtime/queue/queues.ts';

/** The queue whose jobs say which lane to look at. */
export const HANDOVER_QUEUE = 'handover';

/** Jobs that are asked for at a time. */
const AT_ONCE = 20;

export interface LaneWaker {
  /** A lane has something to do in `delayMs`. Returns at once: a queue that is away must hold nobody. */
  wake(connectionId: string, delayMs?: number): void;
  /** Resolves when every wake was asked for, or failed to be. */
  settle(): Promise<void>;
}

/**
 * Wakes lanes by jobs, a few at a time. A lane that is to be woken again before its turn came is woken once. That
 * the queue takes none is logged once; sweeps find what it did not take.
 */
export function createLaneWaker({ queues, logger }: { queues: Queues; logger: Logger }): LaneWaker {
  const wanted = new Map<string, number>();
  let working: Promise<unknown> | undefined;
  let failing = false;

  async function work(): Promise<void> {
    for (let next = takeFirst(); next !== undefined; next = takeFirst()) {
      const [connectionId, delayMs] = next;
      try {
        await queues.wake(HANDOVER_QUEUE, { connectionId }, { jobId: connectionId, delayMs });
        failing = false;
      } catch (err) {
        if (!failing)
          logger.warn({ err, connectionId }, 'hand-overs could not be woken; sweeps will find them');
        failing = true;
      }
    }
  }

  function takeFirst(): [string, number] | undefined {
    const first = wanted.entries().next().value;
    if (first !== undefined) wanted.delete(first[0]);
    return first;
  }

  return {
    wake(connectionId, delayMs = 0) {
      wanted.set(connectionId, Math.min(delayMs, wanted.get(connectionId) ?? delayMs));
      working ??= Promise.all(Array.from({ length: AT_ONCE }, work)).finally(() => {
        working = undefined;
      });
    },
    async settle() {
      while (working !== undefined) await working;
    },
  };
}
