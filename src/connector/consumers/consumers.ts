import { repeat } from '../../runtime/clock/repeat.ts';
import type { Notifier } from '../../runtime/notifier/notifier.ts';
import { demandHandlers } from './check-handlers.ts';
import { type Consumer, type ConsumerOptions, createConsumer } from './consumer.ts';
import type { ConsumerMetrics } from './consumer-metrics.ts';
import { addConsumer, CONSUMER, type ConsumerRow, MEMBER, readConsumers } from './consumer-store.ts';
import { HANDLER, keyFor } from './dead-letters.ts';
import { openSink, type SinkContext } from './open-sink.ts';
import type { Sink } from './sinks/sink.ts';

/** Calls of one change if the handler does not specify how many. */
export const DEFAULT_ATTEMPTS = 12;
/** Longest call if the handler does not specify it. */
export const DEFAULT_DEADLINE_MS = 30_000;

export interface ConsumersOptions
  extends Omit<ConsumerOptions, 'row' | 'sink' | 'keyOf' | 'onFreed' | 'metrics'>,
    SinkContext {
  readonly notifier: Notifier;
  readonly metrics: ConsumerMetrics;
  /** False: this process calls no consumer. */
  readonly works: boolean;
  /** Interval between checks. Default: 5 s, or 1 s if no notifications arrive. */
  readonly checkEveryMs?: number;
}

/** The consumers that this process calls. */
export type Consumers = ReturnType<typeof createConsumers>;

const CHECK_EVERY_MS = 5_000;
const CHECK_EVERY_UNNOTIFIED_MS = 1_000;

interface Running {
  readonly row: ConsumerRow;
  readonly consumer: Consumer;
}

/**
 * Calls the consumers with each change. Which of them run, and how, is in the database; this process takes part in those
 * that it can call. Throws a TypeError for invalid handlers.
 */
export function createConsumers(options: ConsumersOptions) {
  const { database, clock, logger, presence, notifier, feed, handlers } = options;
  if (handlers !== undefined) demandHandlers(handlers);
  const running = new Map<string, Running>();
  /** Versions of consumers that could not be opened. */
  const unopened = new Map<string, number>();
  let started = false;
  let failing = false;
  let unsubscribe = (): void => undefined;

  const checks = repeat({
    clock,
    everyMs: options.checkEveryMs ?? (notifier.receives ? CHECK_EVERY_MS : CHECK_EVERY_UNNOTIFIED_MS),
    async run(stopping) {
      await adopt(stopping);
      // One that fails, or waits for the calls that it gives back, holds back no other.
      const checked = await Promise.allSettled([...running.values()].map(({ consumer }) => consumer.check()));
      for (const end of checked) if (end.status === 'rejected') throw end.reason;
      failing = false;
    },
    onError(err) {
      if (!failing) logger.warn({ err }, 'the consumers could not be checked; retrying');
      failing = true;
    },
  });

  /** Follows the rows: starts, restarts and stops consumers. */
  async function adopt(stopping: AbortSignal): Promise<void> {
    const rows = await readConsumers(database);
    for (const [name, { row, consumer }] of running) {
      if (rows.some((now) => now.name === name && now.version === row.version)) continue;
      running.delete(name);
      await consumer.close();
    }
    const { feedId } = await feed.position();
    for (const row of rows) {
      if (running.has(row.name) || row.state !== 'running') continue;
      const sink = await open(row);
      if (sink === null) continue;
      if (stopping.aborted) return await sink.close();
      const consumer = createConsumer({
        ...options,
        row: row.kind === HANDLER ? asHandlers(row) : row,
        sink,
        metrics: options.metrics(row.name),
        keyOf: (seq) => keyFor(row.name, feedId, seq),
        onFreed: () => notifier.notify(CONSUMER, row.name),
      });
      running.set(row.name, { row, consumer });
    }
  }

  /** The sink of a consumer. One that cannot be opened, and is tried again, holds back no other. */
  async function open(row: ConsumerRow): Promise<Sink | null> {
    try {
      const sink = await openSink(row, options);
      unopened.delete(row.name);
      return sink;
    } catch (err) {
      if (unopened.get(row.name) !== row.version)
        logger.error({ err, consumer: row.name }, 'a consumer cannot be called from this process; retrying');
      unopened.set(row.name, row.version);
      return null;
    }
  }

  /** What the module of the handlers says goes before the row. */
  function asHandlers(row: ConsumerRow): ConsumerRow {
    const {
      attempts = DEFAULT_ATTEMPTS,
      deadlineMs = DEFAULT_DEADLINE_MS,
      historic = 'quiet',
      onChanges,
    } = handlers ?? {};
    return { ...row, attempts, deadlineMs, historic, batch: onChanges === undefined ? 1 : row.batch };
  }

  async function addHandler(): Promise<void> {
    const { lastSeq } = await feed.position();
    const isFirst = await addConsumer(
      database,
      { name: HANDLER, kind: HANDLER, createdAt: clock.now() },
      lastSeq,
    );
    if (isFirst)
      logger.info(
        { seq: lastSeq },
        'dispatch starts with the next change; earlier changes are only in the feed',
      );
    else logger.info('dispatch continues');
  }

  return {
    /** Starts to take part. Throws as `query` does. */
    async start(): Promise<void> {
      if (!options.works) return;
      if (handlers !== undefined) await addHandler();
      started = true;
      const look = (): void => checks.trigger();
      unsubscribe = notifier.subscribe(CONSUMER, async () => look());
      presence.onLeft(CONSUMER, look);
      presence.onLeft(MEMBER, look);
      presence.onReturn(look);
      await checks
        .runNow()
        .catch((err: unknown) => logger.warn({ err }, 'the consumers could not be checked; retrying'));
      checks.start();
      notifier.notify(CONSUMER, HANDLER);
    },
    /** Something of the consumer was changed: look soon, in all processes. Returns at once. */
    notify: (name: string): void => notifier.notify(CONSUMER, name),
    /** Resolves when the feed is handed over, as far as this process takes part. Throws as `query` does. */
    async settle(): Promise<void> {
      if (!started) return;
      await checks.runNow();
      for (const { consumer } of running.values()) await consumer.settle();
    },
    /** Ends calls in an orderly way. The time is limited. */
    async close(): Promise<void> {
      unsubscribe();
      const closing = [...running.values()].map(({ consumer }) => consumer.close());
      await Promise.all([checks.stop(), ...closing]);
    },
  };
}
