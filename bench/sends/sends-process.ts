import { createOutbox } from '../../src/connector/outbox/outbox.ts';
import { createOutboxMetrics } from '../../src/connector/outbox/queue-context.ts';
import { queueSend } from '../../src/connector/outbox/queue-send.ts';
import { createServiceClient } from '../../src/connector/service-client/service-client.ts';
import { createPresence } from '../../src/connector/work/presence.ts';
import { systemClock as clock } from '../../src/runtime/clock/system-clock.ts';
import { createMetrics } from '../../src/runtime/metrics/metrics.ts';
import { openNotifier } from '../../src/runtime/notifier/open-notifier.ts';
import { logger } from '../context.ts';
import { openSchema } from '../postgres/open-schema.ts';
import { serveParent } from '../process/serve-parent.ts';
import { openBareSignal } from './bare-signal.ts';

/** Epoch milliseconds with their fraction. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Epoch milliseconds, by the text of the message. */
export type Times = Readonly<Record<string, number>>;

/** When the sends and the bare signals of a run were asked for, or began. */
interface RunTimes {
  readonly sends: Times;
  readonly bare: Times;
}

interface SendsSetup {
  readonly databaseUrl: string;
  /** Undefined: Postgres notifies. */
  readonly redisUrl: string | undefined;
  /** Names the contender. */
  readonly prefix: string;
  /** False: this process only queues. */
  readonly sends: boolean;
}

let running: Awaited<ReturnType<typeof start>> | undefined;
let startedAt: Record<string, number> = {};
let heardAt: Record<string, number> = {};

/** The sending half of a connector process: the outbox of the product, and a service that answers at once. */
async function start({ databaseUrl, redisUrl, prefix, sends }: SendsSetup) {
  const database = await openSchema('connector', databaseUrl);
  const notifier = await openNotifier({ database, databaseUrl, redisUrl, prefix, clock, logger });
  const presence = createPresence({ database, clock, logger, works: sends });
  const client = createServiceClient({ baseUrl: 'http://unused.example', token: () => '', clock });
  const outbox = createOutbox({
    database,
    notifier,
    presence,
    clock,
    logger,
    metrics: createOutboxMetrics(createMetrics()),
    random: Math.random,
    clientFor: async () => ({
      ...client,
      host: 'service.example',
      async sendMessage({ text = '' }) {
        startedAt[text] = preciseNow();
        return { messageId: text, waMessageId: null, status: 'sent', persisted: true };
      },
    }),
    onCommitted: () => undefined,
  });
  await presence.start();
  if (sends) await outbox.start();
  const hear = (text: string): void => {
    heardAt[text] = preciseNow();
  };
  const bare = await openBareSignal({ databaseUrl, redisUrl, prefix }, sends ? hear : undefined);
  return { database, notifier, presence, outbox, bare };
}

function theRunning() {
  if (running === undefined) throw new Error('the process was not started');
  return running;
}

const commands = {
  async start(setup: SendsSetup): Promise<void> {
    running = await start(setup);
  },
  async addConnections({ count }: { readonly count: number }): Promise<void> {
    await theRunning().database.query(
      `with account as (
         insert into connector.accounts (id, kind, subscription_id, created_at)
         values ('bench', 'api_key', 'bench', 0))
       insert into connector.connections (connection_id, account_id, listed_at, version, updated_at)
       select 'c' || n, 'bench', 0, 1, 0 from generate_series(0, $1::integer - 1) n`,
      [count],
    );
  },
  /** Queues one send after the other, each on the next connection, and sends a bare signal between two of them. */
  async queue(run: { name: string; count: number; everyMs: number; connections: number }): Promise<RunTimes> {
    const { database, outbox, bare } = theRunning();
    const sends: Record<string, number> = {};
    const signals: Record<string, number> = {};
    for (let index = 0; index < run.count; index += 1) {
      const text = `${run.name}-${index}`;
      const connectionId = `c${index % run.connections}`;
      sends[text] = preciseNow();
      const request = { connectionId, to: '447700900201', text, reference: text };
      const queued = await queueSend(database, request, clock.now());
      if (queued.kind !== 'queued') throw new Error(`a send was not queued: ${queued.kind}`);
      outbox.notify(connectionId);
      await clock.sleep(run.everyMs / 2);
      signals[text] = preciseNow();
      await bare.send(text);
      await clock.sleep(run.everyMs / 2);
    }
    return { sends, bare: signals };
  },
  /** When the attempts began, and the bare signals came, since this process was last asked. */
  async started(): Promise<RunTimes> {
    const times = { sends: startedAt, bare: heardAt };
    startedAt = {};
    heardAt = {};
    return times;
  },
  /** How many sends were made at their first attempt, once nothing is due any more. */
  async countSent(): Promise<number> {
    const { database, outbox } = theRunning();
    await outbox.settle();
    const count = `select count(*) as sent from connector.outbound where state = 'sent' and attempts = 1`;
    return (await database.query<{ sent: number }>(count))[0]?.sent ?? 0;
  },
};

export type SendsCommands = typeof commands;

serveParent(commands, async () => {
  await running?.bare.close();
  await running?.outbox.close();
  await running?.presence.stop();
  await running?.notifier.close();
  await running?.database.close();
});
