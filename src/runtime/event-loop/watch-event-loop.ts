import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';

const BEAT_MS = 500;
/** A beat that is this late was held up by code that computes. */
const LATE_MS = 1_000;
const PAUSE_MS = 60_000;

/**
 * Warns in the log, at most once a minute, when the process did nothing else for more than a second because some code
 * computed without a pause. Call what it returns to stop.
 */
export function watchEventLoop({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): () => void {
  let cancel = (): void => undefined;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const beat = (): void => {
    const due = clock.elapsed() + BEAT_MS;
    cancel = clock.after(BEAT_MS, () => {
      const lateMs = Math.round(clock.elapsed() - due);
      if (lateMs > LATE_MS && clock.elapsed() - warnedAt >= PAUSE_MS) {
        warnedAt = clock.elapsed();
        logger.warn(
          { ms: lateMs },
          'nothing was answered meanwhile: some code, perhaps a handler, computed without a pause. Let a worker of its own call the handlers (CONNECTOR_ROLE), or do such work in a thread',
        );
      }
      beat();
    });
  };
  beat();
  return () => cancel();
}
