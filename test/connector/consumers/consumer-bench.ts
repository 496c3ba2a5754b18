import { afterEach, beforeAll } from 'vitest';
import {
  type Consumer,
  type ConsumerOptions,
  createConsumer,
} from '../../../src/connector/consumers/consumer.ts';
import { createConsumerMetrics } from '../../../src/connector/consumers/consumer-metrics.ts';
import type { ConsumerRow } from '../../../src/connector/consumers/consumer-store.ts';
import {
  type Consumers,
  type ConsumersOptions,
  createConsumers,
} from '../../../src/connector/consumers/consumers.ts';
import type { ChangeHandlers, HandlerContext } from '../../../src/connector/consumers/sinks/handler.ts';
import type { Sink } from '../../../src/connector/consumers/sinks/sink.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { createFeed, type Feed } from '../../../src/connector/feed/feed.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { ACCOUNT, newId, openConnectorDatabase, received, silentLogger } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';

/** A call of the handler, as a test looks at it. */
export interface Call {
  readonly connectionId: string;
  readonly text: string | null;
  readonly key: string;
  readonly attempt: number;
  readonly change: Change;
}

/** What the handler does with a call. */
export type Answer = (call: Call, context: HandlerContext) => void | Promise<void>;

/** A process that dispatches, with a life of its own. */
export interface HandingProcess extends Consumers {
  readonly presence: Presence;
}

/** A database with a feed, a clock that stands still, and a handler whose answers a test scripts. */
export class ConsumerBench {
  readonly clock = new ManualClock();
  readonly notifier = new ManualNotifier();
  readonly metrics = createMetrics();
  /** Every call of a handler, in order. */
  calls: Call[] = [];
  answer: Answer = () => undefined;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly feed: Feed;
  readonly #close: () => Promise<void>;
  readonly #measured = createConsumerMetrics(this.metrics);
  #processes: HandingProcess[] = [];

  private constructor(databaseUrl: string, database: Database, close: () => Promise<void>) {
    this.databaseUrl = databaseUrl;
    this.database = database;
    this.#close = close;
    this.feed = createFeed({ database, clock: this.clock, logger: silentLogger });
  }

  static async open(): Promise<ConsumerBench> {
    const { url, database, close } = await openConnectorDatabase(8);
    return new ConsumerBench(url, database, close);
  }

  /** Commits and numbers a change of this connection for each text. */
  async tell(connectionId: string, ...texts: readonly string[]): Promise<void> {
    for (const text of texts) await this.#commit(connectionId, [text]);
    await this.feed.settle();
  }

  /** The same in one batch. */
  async tellAtOnce(connectionId: string, texts: readonly string[]): Promise<void> {
    await this.#commit(connectionId, texts);
    await this.feed.settle();
  }

  async #commit(connectionId: string, texts: readonly string[]): Promise<void> {
    // One that is known already makes no change of its own.
    await this.database.query(
      `insert into connector.connections (connection_id, account_id, listed_at, version, updated_at)
       values ($1, $2, 0, 1, 0) on conflict do nothing`,
      [connectionId, ACCOUNT],
    );
    const messages = texts.map((text) => received(connectionId, newId(), { text }));
    await commitBatch(this.database, { now: this.clock.now(), messages });
  }

  /** A process that takes part; it begins to when it is started. */
  process(
    handlers: Partial<ChangeHandlers> | null = {},
    options: Partial<ConsumersOptions> = {},
  ): HandingProcess {
    const { database = this.database, clock = this.clock } = options;
    const presence = createPresence({ database, clock, logger: silentLogger, works: true });
    const consumers = createConsumers({
      database: this.database,
      notifier: this.notifier,
      clock: this.clock,
      logger: silentLogger,
      presence,
      random: () => 0,
      metrics: this.#measured,
      feed: this.feed,
      works: true,
      keyRing: createKeyRing([generateSealingKey()]),
      serviceHosts: null,
      redisUrl: undefined,
      handlers:
        handlers === null
          ? undefined
          : {
              onChange: async (change, context) => {
                const call = toCall(change, context);
                this.calls.push(call);
                await this.answer(call, context);
              },
              ...handlers,
            },
      ...options,
    });
    const process: HandingProcess = {
      ...consumers,
      presence,
      async start() {
        await presence.start();
        await consumers.start();
      },
      async close() {
        await consumers.close();
        await presence.stop();
      },
    };
    this.#processes.push(process);
    return process;
  }

  /** A process is taken for dead. */
  async bury({ presence }: HandingProcess): Promise<void> {
    await this.database.query('delete from connector.processes where id = $1', [presence.id]);
  }

  /** A process that has begun to dispatch. */
  async running(
    handlers: Partial<ChangeHandlers> | null = {},
    options: Partial<ConsumersOptions> = {},
  ): Promise<HandingProcess> {
    const process = this.process(handlers, options);
    await process.start();
    return process;
  }

  /** A consumer with this sink, in a process of its own. */
  async consumer(
    row: ConsumerRow,
    sink: Omit<Sink, 'close'>,
    options: Partial<ConsumerOptions> = {},
  ): Promise<Consumer> {
    const base = { database: this.database, clock: this.clock, logger: silentLogger, ...options };
    const presence = createPresence({ ...base, works: true });
    await presence.start();
    const consumer = createConsumer({
      ...{ presence, row, feed: this.feed, random: () => 0, onFreed: () => undefined },
      metrics: createConsumerMetrics(createMetrics())(row.name),
      sink: { ...sink, close: () => Promise.resolve() },
      keyOf: (seq) => `key-${seq}`,
      ...base,
    });
    return {
      ...consumer,
      async close() {
        await consumer.close();
        await presence.stop();
      },
    };
  }

  /** Passes time, and does what is due then. */
  async pass(ms: number, work: { settle(): Promise<void> }): Promise<void> {
    await this.clock.advance(ms);
    await work.settle();
  }

  /** What the handler was called with on this connection: text and attempt, as in `Hello 1`. */
  callsOf(connectionId: string): readonly string[] {
    const calls = this.calls.filter((call) => call.connectionId === connectionId);
    return calls.map(({ text, attempt }) => `${text} ${attempt}`);
  }

  /** Ends every process of the test, and forgets what was scripted and what is still to be done. */
  async stopAll(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.close()));
    this.#processes = [];
    for (const table of ['parked', 'parked_entries', 'dead_letters', 'leases']) {
      await this.database.query(`DELETE FROM connector.${table}`);
    }
    const { lastSeq } = await this.feed.position();
    await this.database.query('UPDATE connector.consumer_places SET place = $1::bigint, open = false', [
      lastSeq,
    ]);
    this.answer = () => undefined;
    this.calls = [];
    this.notifier.notified = [];
    this.notifier.failing = false;
  }

  async close(): Promise<void> {
    await this.feed.close();
    await this.#close();
  }
}

/** A bench for the tests of a file, each of which ends its processes. Handlers have run before, so every change is for them. */
export function consumerBenchOfFile(): ConsumerBench {
  const bench = ofFile(() => ConsumerBench.open());
  beforeAll(async () => {
    await (await bench.running()).close();
  });
  afterEach(() => bench.stopAll());
  return bench;
}

function toCall(change: Change, { key, attempt }: HandlerContext): Call {
  const text = change.type === 'message.created' ? change.data.text : null;
  return { connectionId: change.connectionId, text, key, attempt, change };
}
