import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';

const BEAT_MS = 500;
/** A beat that is this late was held up. */
const LATE_MS = 1_000;
const PAUSE_MS = 60_000;

const COMPUTED =
  'nothing else was done meanwhile: some code, probably a handler, computed without a pause. Webhooks wait for as long, and after 3.5 s other processes take over what this one does. Do such work in a thread, or let a process of its own call the handlers (CONNECTOR_ROLE=worker)';
const HELD_UP =
  'nothing was done meanwhile: the process got no processor. The machine is overloaded, or the process was stopped for a while';

/**
 * Warns in the log, at most once a minute, when the process did nothing else for more than a second, and says whether it
 * computed in that time or was held up from outside. Call what it returns to stop.
 */
export function watchEventLoop({
  clock,
  logger,
  processorMs = readProcessorMs,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The processor time that this process has used, in milliseconds. */
  readonly processorMs?: () => number;
}): () => void {
  let cancel = (): void => undefined;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const beat = (): void => {
    const due = clock.elapsed() + BEAT_MS;
    const used = processorMs();
    cancel = clock.after(BEAT_MS, () => {
      const lateMs = Math.round(clock.elapsed() - due);
      if (lateMs > LATE_MS && clock.elapsed() - warnedAt >= PAUSE_MS) {
        warnedAt = clock.elapsed();
        const computed = processorMs() - used >= lateMs / 2;
        logger.warn({ ms: lateMs }, computed ? COMPUTED : HELD_UP);
      }
      beat();
    });
  };
  beat();
  return () => cancel();
}

function readProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
