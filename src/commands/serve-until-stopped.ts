import { styleText } from 'node:util';
import type { Clock } from '../runtime/clock/clock.ts';
import { describeTypo, type NearName } from '../runtime/config/similar-names.ts';
import { createLifecycle, type Lifecycle, type StopSignal } from '../runtime/lifecycle/lifecycle.ts';
import { createLogger, type Logger, type LoggerOptions } from '../runtime/logger/logger.ts';

export interface ServeOptions extends LoggerOptions {
  readonly clock: Clock;
  /** Maximum duration of the shutdown. */
  readonly shutdownMs: number;
  /** Variables whose names resemble a setting; each is logged and removed from the list. */
  readonly typos: NearName[];
  /**
   * For a person at a terminal, prints on standard error what is being started and for how long, and when the shutdown
   * starts and has finished.
   */
  readonly tells?: boolean | undefined;
  /** Default: SIGINT and SIGTERM. */
  readonly stopSignals?: readonly StopSignal[];
}

const TOLD_STOP = {
  begun() {
    // A terminal shows `^C` at the beginning of the line.
    const line = process.stderr.isTTY ? '\n' : '';
    process.stderr.write(`${line}stopping    press Ctrl-C again to stop at once\n`);
  },
  ended: (ms: number): void =>
    void process.stderr.write(`stopped     in ${(ms / 1000).toFixed(1)} s; the data is kept\n`),
};

const CLEAR_LINE = '\r\u001b[K';

/** Shows on a terminal what is being started, on a line that disappears when it has started. */
function tellStart(clock: Clock): (name: string) => () => void {
  return (name) => {
    let cancel = (): void => undefined;
    function show(seconds: number): void {
      process.stderr.write(`${CLEAR_LINE}${styleText('dim', `starting    ${name}, ${seconds} s`)}`);
      cancel = clock.after(1_000, () => show(seconds + 1));
    }
    show(0);
    return () => {
      cancel();
      process.stderr.write(CLEAR_LINE);
    };
  };
}

/** The context that a command gets while it serves. */
export interface Serving {
  readonly logger: Logger;
  /** Registers how to close what was started. */
  readonly lifecycle: Lifecycle;
}

/**
 * Starts what a command serves, and keeps it running until a signal stops it.
 * @throws what `start` throws; everything that it had registered is closed then.
 */
export async function serveUntilStopped(
  options: ServeOptions,
  start: (serving: Serving) => Promise<void>,
): Promise<void> {
  const { clock, shutdownMs } = options;
  const logger = createLogger(options);
  for (const typo of options.typos.splice(0)) logger.warn(describeTypo(typo));
  const { tells = false } = options;
  const lifecycle = createLifecycle({
    logger,
    clock,
    deadlineMs: shutdownMs,
    onStart: tells && process.stderr.isTTY ? tellStart(clock) : undefined,
    onStop: tells ? TOLD_STOP : undefined,
  });
  lifecycle.closeOnSignals(options.stopSignals);
  try {
    await start({ logger, lifecycle });
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}
