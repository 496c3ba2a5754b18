import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { outbound } from '../../../src/connector/db/schema.ts';
import { createOutbox, type Outbox, type OutboxOptions } from '../../../src/connector/outbox/outbox.ts';
import { createOutboxMetrics } from '../../../src/connector/outbox/queue-context.ts';
import { queueSend } from '../../../src/connector/outbox/queue-send.ts';
import { presentOutbound, SHOWN } from '../../../src/connector/outbox/stored-outbound.ts';
import type { SentMessage } from '../../../src/connector/service-client/call-service.ts';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Outbound } from '../../../src/contract/connector/outbound.ts';
import type { ReadSend } from '../../../src/contract/service/read-answers.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { orm } from '../../../src/runtime/database/orm.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ACCOUNT, openConnectorDatabase, silentLogger } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';

/** What the service does with a send: an answer, or something thrown. */
export type Answer = (body: SentMessage, signal: AbortSignal) => ReadSend | Promise<ReadSend>;

/** Gets what is queued for nobody else. */
export const SOMEBODY = '447700900201';
export const PICTURE = Buffer.from('bytes of a picture');

export function sentAs(messageId: string): ReadSend {
  return { messageId, waMessageId: null, status: 'sent', persisted: true };
}

/** The service refuses with this code. */
export function refuse(code: string, status = 502, retryAfterMs: number | null = null): never {
  throw new ServiceRefusal({ status, code, retryAfterMs });
}

/** The answer of the service is lost. */
export function lose(): never {
  throw new ServiceUnreachable('network');
}

/** A process that sends, with a life of its own. */
export interface SendingProcess extends Outbox {
  readonly presence: Presence;
}

/** A database with connections, a clock that stands still, and a service whose answers a test scripts. */
export class OutboxBench {
  readonly clock = new ManualClock();
  readonly notifier = new ManualNotifier();
  /** Every body that reached the service, in order. */
  readonly calls: SentMessage[] = [];
  /** How often the feed was told that there are changes. */
  announced = 0;
  /** Asked for each send. */
  answer: Answer = (_body) => sentAs(`m${this.calls.length}`);
  readonly databaseUrl: string;
  readonly database: Database;
  readonly #close: () => Promise<void>;
  #processes: SendingProcess[] = [];

  private constructor(databaseUrl: string, database: Database, close: () => Promise<void>) {
    this.databaseUrl = databaseUrl;
    this.database = database;
    this.#close = close;
  }

  static async open(): Promise<OutboxBench> {
    const { url, database, close } = await openConnectorDatabase(8);
    return new OutboxBench(url, database, close);
  }

  async addConnection(connectionId = `c${randomUUID()}`): Promise<string> {
    await this.database.query(
      `insert into connector.connections (connection_id, account_id, listed_at, version, updated_at)
       values ($1, $2, 0, 1, 0)`,
      [connectionId, ACCOUNT],
    );
    return connectionId;
  }

  /** A process that sends; it begins to when it is started. */
  process(options: Partial<OutboxOptions> = {}): SendingProcess {
    const real = createServiceClient({
      baseUrl: 'http://unused.example',
      token: () => '',
      clock: this.clock,
    });
    const client = {
      ...real,
      host: 'service.example',
      sendMessage: async (body: SentMessage, signal?: AbortSignal) => {
        this.calls.push(body);
        return await this.answer(body, signal ?? new AbortController().signal);
      },
    };
    const { clock } = this;
    const presence = createPresence({
      database: options.database ?? this.database,
      clock,
      logger: silentLogger,
      works: true,
    });
    const outbox = createOutbox({
      database: this.database,
      presence,
      notifier: this.notifier,
      clock: this.clock,
      logger: silentLogger,
      metrics: createOutboxMetrics(createMetrics()),
      random: () => 0,
      clientFor: async () => client,
      onCommitted: () => {
        this.announced += 1;
      },
      ...options,
    });
    const process: SendingProcess = {
      ...outbox,
      presence,
      async start() {
        await presence.start();
        await outbox.start();
      },
      async close() {
        await outbox.close();
        await presence.stop();
      },
    };
    this.#processes.push(process);
    return process;
  }

  /** A process is taken for dead. */
  async bury({ presence }: SendingProcess): Promise<void> {
    await this.database.query('delete from connector.processes where id = $1', [presence.id]);
  }

  /** A process that has begun to send. */
  async running(): Promise<SendingProcess> {
    const outbox = this.process();
    await outbox.start();
    return outbox;
  }

  /** Runs what is due, as often as time is moved to the next attempt. */
  async sendAll(outbox: Outbox, times = 1): Promise<void> {
    await outbox.settle();
    for (let step = 1; step < times; step += 1) {
      await this.clock.skip(5 * 60_000);
      await outbox.settle();
    }
  }

  async queueText(
    connectionId: string,
    text: string,
    reference: string = randomUUID(),
    to = SOMEBODY,
  ): Promise<string> {
    return await this.#queue({ connectionId, to, text, reference });
  }

  async queueFile(
    connectionId: string,
    caption?: string,
    to = SOMEBODY,
    filename = 'a.png',
    bytes = PICTURE,
  ): Promise<string> {
    const data = bytes.toString('base64');
    const media = { filename, mimetype: 'image/png', data, ...(caption === undefined ? {} : { caption }) };
    return await this.#queue({ connectionId, to, media, reference: randomUUID() });
  }

  async #queue(request: Parameters<typeof queueSend>[1]): Promise<string> {
    const queued = await queueSend(this.database, request, this.clock.now());
    if (queued.kind !== 'queued') throw new Error(`the send was not queued: ${queued.kind}`);
    return queued.outboundId;
  }

  async read(outboundId: string): Promise<Outbound> {
    const [row] = await orm(this.database).select(SHOWN).from(outbound).where(eq(outbound.id, outboundId));
    if (row === undefined) throw new Error('no such send');
    return presentOutbound(row);
  }

  async stateOf(outboundId: string): Promise<string> {
    return (await this.read(outboundId)).state;
  }

  async statesOf(outboundIds: readonly string[]): Promise<string[]> {
    return await Promise.all(outboundIds.map((id) => this.stateOf(id)));
  }

  /** The states that the feed told of a send, in order. */
  async told(outboundId: string): Promise<string[]> {
    const rows = await this.database.query<{ state: string }>(
      `select data->>'state' as state from connector.changes
        where type = 'outbound.updated' and data->>'id' = $1 order by batch, position`,
      [outboundId],
    );
    return rows.map((row) => row.state);
  }

  /** The service begins anew: no calls, every send is sent. */
  forget(): void {
    this.calls.length = 0;
    this.announced = 0;
    this.answer = () => sentAs(`m${randomUUID()}`);
  }

  /** Ends the processes of one test, and what they left to be done. */
  async stopAll(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.close()));
    this.#processes = [];
    await this.database.query(
      `update connector.outbound set state = 'cancelled' where state in ('queued', 'sending')`,
    );
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.#close();
  }
}
