import { randomInt } from 'node:crypto';

const PATTERN = /^every (\d+) jitter (\d+)$/;
const JITTER_STEPS = 1_000_000;

/**
 * How a schedule is written down in the queue's store, in place of a cron pattern.
 * @throws {TypeError} for a period below 1 ms or a jitter outside 0 to 0.9.
 */
export function writeSchedule(everyMs: number, jitter: number): string {
  if (!Number.isSafeInteger(everyMs) || everyMs < 1)
    throw new TypeError('A schedule runs every 1 ms or more.');
  if (!(jitter >= 0 && jitter <= 0.9))
    throw new TypeError('The jitter of a schedule is a fraction from 0 to 0.9.');
  return `every ${everyMs} jitter ${Math.floor(jitter * JITTER_STEPS)}`;
}

/**
 * BullMQ's repeat strategy: the time of the next run, in epoch milliseconds, from the one before.
 * Each interval is drawn anew, evenly from `everyMs` less and plus its jitter, so that processes that were
 * started together drift apart while the mean stays `everyMs`.
 */
export function nextRun(previous: number, options: { readonly pattern?: string }): number | undefined {
  const match = PATTERN.exec(options.pattern ?? '');
  if (match === null) return undefined;
  const everyMs = Number(match[1]);
  const spread = Math.floor((everyMs * Number(match[2])) / JITTER_STEPS);
  return previous + everyMs - spread + randomInt(2 * spread + 1);
}
