import type { Clock } from '../clock/clock.ts';
import { repeat } from '../clock/repeat.ts';
import type { Logger } from '../logger/logger.ts';

const BEAT_MS = 500;
/** A beat that is this late was delayed. */
const LATE_MS = 1_000;
const PAUSE_MS = 60_000;

const BLOCKED =
  'some code, probably a handler, blocked the event loop. Webhooks are delayed for as long, and after 3.5 s other processes take over the work of this process. Move such work to a worker thread, or let separate processes call the handlers (CONNECTOR_ROLE=worker)';
const HELD_UP =
  'the process got no CPU time. The machine is overloaded, or the process was stopped for a while';

/**
 * Logs a warning, at most once a minute, if the process did nothing else for more than a second, and states
 * whether it computed in that time or was stopped from outside. Call the returned function to stop.
 */
export function watchEventLoop({
  clock,
  logger,
  processorMs = readProcessorMs,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The CPU time that this process has used, in milliseconds. */
  readonly processorMs?: () => number;
}): () => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  let beatenAt = clock.elapsed();
  let used = processorMs();
  const beats = repeat({
    clock,
    everyMs: BEAT_MS,
    async run() {
      const lateMs = Math.round(clock.elapsed() - beatenAt - BEAT_MS);
      if (lateMs > LATE_MS && clock.elapsed() - warnedAt >= PAUSE_MS) {
        warnedAt = clock.elapsed();
        const computed = processorMs() - used >= lateMs / 2;
        logger.warn({ ms: lateMs }, computed ? BLOCKED : HELD_UP);
      }
      beatenAt = clock.elapsed();
      used = processorMs();
    },
    onError: (err) => logger.warn({ err }, 'the event loop could not be watched'),
  });
  beats.start();
  return () => void beats.stop();
}

function readProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
