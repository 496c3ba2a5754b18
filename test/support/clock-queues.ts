import type { Clock } from '../../src/runtime/clock/clock.ts';
import type { JobData, JobHandler, Queues } from '../../src/runtime/queue/queues.ts';

/** Queues of one process in memory, on a clock that a test moves. */
export function createClockQueues(clock: Clock): Queues {
  const handlers = new Map<string, JobHandler>();
  const timers = new Map<string, () => void>();
  const closing = new AbortController();

  function run(queue: string, data: JobData): void {
    void handlers.get(queue)?.(data, closing.signal);
  }

  function set(key: string, ms: number, work: () => void): void {
    timers.get(key)?.();
    timers.set(key, clock.after(ms, work));
  }

  return {
    backend: 'postgres',
    async wake(queue, data, { jobId, delayMs = 0 } = {}) {
      if (jobId === undefined) clock.after(delayMs, () => run(queue, data));
      else set(`${queue} ${jobId}`, delayMs, () => run(queue, data));
    },
    async schedule(queue, key, data, { everyMs }) {
      const again = (): void => {
        set(`${queue} every ${key}`, everyMs, again);
        run(queue, data);
      };
      set(`${queue} every ${key}`, everyMs, again);
    },
    async unschedule(queue, key) {
      timers.get(`${queue} every ${key}`)?.();
    },
    work: (queue, handler) => void handlers.set(queue, handler),
    ping: () => Promise.resolve(),
    async close() {
      closing.abort();
      for (const cancel of timers.values()) cancel();
    },
  };
}
