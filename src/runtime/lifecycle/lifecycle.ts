import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import { describeFault } from '../logger/describe-fault.ts';
import type { Logger } from '../logger/logger.ts';

/** The signals that ask a process to stop. */
export type StopSignal = keyof typeof SIGNALS;

interface Step {
  readonly name: string;
  readonly close: () => void | Promise<void>;
}

const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
/**
 * npm forwards the Ctrl-C that the terminal has already sent to every process: one key press, two signals.
 */
const ECHO_MS = 200;

export type Lifecycle = ReturnType<typeof createLifecycle>;

/**
 * Stops what a process has started, in the right order and in at most `deadlineMs`. A step gets half of the remaining
 * time, so that a step that hangs leaves time to the next ones; the last step gets all of it.
 */
export function createLifecycle(options: {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Called when something is being started. Returns a function that is called once it has started, or failed. */
  readonly onStart?: ((name: string) => () => void) | undefined;
  /** `begun` is called when a signal starts the shutdown, `ended` once every step of it has succeeded. */
  readonly onStop?: { readonly begun: () => void; readonly ended: (ms: number) => void } | undefined;
}) {
  const { logger, clock } = options;
  const steps: Step[] = [];
  let endsAt: number | undefined;
  let closing: Promise<void> | undefined;
  let failed = false;
  let first: { readonly signal: string; readonly at: number } | undefined;

  function fail(step: Step, err: unknown): void {
    failed = true;
    logger.error({ step: step.name, err }, 'a step of the shutdown failed');
  }

  async function run(step: Step): Promise<void> {
    const leftMs = Math.max(0, (endsAt ?? clock.elapsed()) - clock.elapsed());
    const limitMs = steps.length === 0 ? leftMs : leftMs / 2;
    try {
      const closed = Promise.resolve(step.close());
      await within(clock, limitMs, closed, () => new Error('it did not finish in time'));
    } catch (error) {
      fail(step, error);
    }
  }

  async function closeAll(): Promise<void> {
    endsAt = clock.elapsed() + options.deadlineMs;
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) await run(step);
  }

  /**
   * Runs every step once and resolves when they are finished. Never rejects: if a step fails or hangs, that is logged
   * and the next one runs. Further calls join the first.
   */
  function close(): Promise<void> {
    closing ??= closeAll();
    return closing;
  }

  /**
   * Waits for something that is being started, and registers how to close it. A shutdown that begins in the
   * meantime also waits for it, closes it, and leaves the promise pending, so that its caller starts nothing more.
   * @throws what the start throws, unless a shutdown has begun.
   */
  async function whenStarted<Started>(
    name: string,
    starting: Promise<Started>,
    closeStarted: (started: Started) => void | Promise<void>,
  ): Promise<Started> {
    const onEnd = options.onStart?.(name);
    const outcome = starting.then(
      (started) => ({ started }),
      (error: unknown) => ({ error }),
    );
    void outcome.then(onEnd);
    onClose(name, async () => {
      const ended = await outcome;
      if ('started' in ended) await closeStarted(ended.started);
    });
    const ended = await outcome;
    if (closing !== undefined) return await new Promise(() => undefined);
    if ('error' in ended) throw ended.error;
    return ended.started;
  }

  /** Runs `close` and exits the process: with 0, or with 1 if a step failed. */
  async function exit(): Promise<never> {
    await close();
    process.exit(failed ? 1 : 0);
  }

  async function stop(): Promise<never> {
    const beganAt = clock.elapsed();
    options.onStop?.begun();
    await close();
    if (!failed) options.onStop?.ended(clock.elapsed() - beganAt);
    return await exit();
  }

  /**
   * SIGINT and SIGTERM, or the given ones of them, run `exit`. A second signal exits the process at once,
   * unless it only repeats the first one (see `ECHO_MS`). An unhandled rejection or exception is logged and
   * exits with 1.
   */
  function closeOnSignals(signals: readonly StopSignal[] = ['SIGINT', 'SIGTERM']): void {
    for (const signal of signals) {
      process.on(signal, () => {
        if (first?.signal === signal && clock.elapsed() - first.at < ECHO_MS) return;
        if (closing !== undefined) process.exit(128 + SIGNALS[signal]);
        first = { signal, at: clock.elapsed() };
        logger.info({ signal }, 'stopping');
        void stop();
      });
    }
    const crash = (kind: string) => (err: unknown) => {
      // The error may come from the CRM's code and contain a customer's words.
      logger.fatal({ kind, ...describeFault(err) }, 'stopped by an unhandled error');
      process.exit(1);
    };
    process.on('unhandledRejection', crash('rejection'));
    process.on('uncaughtException', crash('exception'));
  }

  /**
   * Registers a step of the shutdown. Steps run one after the other, the last registered first. A step that
   * is registered during the shutdown runs at once.
   */
  function onClose(name: string, step: () => void | Promise<void>): void {
    if (closing === undefined) steps.push({ name, close: step });
    else void run({ name, close: step });
  }

  return { onClose, whenStarted, close, exit, closeOnSignals };
}
