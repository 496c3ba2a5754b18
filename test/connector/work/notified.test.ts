import { expect, it, onTestFinished } from 'vitest';
import { ServiceRefusal } from '../../../src/connector/service-client/service-errors.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { ConsumerBench } from '../consumers/consumer-bench.ts';
import { OutboxBench, sentAs } from '../outbox/outbox-bench.ts';
import { newId, silentLogger } from '../support/event-fixtures.ts';

/** Work starts only because of a notification: nothing looks for it from time to time. */
const NO_CHECK_MS = 3_600_000;

interface Bench {
  readonly database: Database;
  readonly databaseUrl: string;
  close(): Promise<void>;
}

/** What a process needs to be notified by Postgres. */
async function notified(bench: Bench) {
  onTestFinished(() => bench.close());
  const notifier = await openNotifier({
    database: bench.database,
    databaseUrl: bench.databaseUrl,
    prefix: 'connector',
    clock: systemClock,
    logger: silentLogger,
  });
  onTestFinished(() => notifier.close());
  return { notifier, clock: systemClock, checkEveryMs: NO_CHECK_MS };
}

it('a queue of sends is notified immediately, and when its next attempt is due', async () => {
  const bench = await OutboxBench.open();
  const outbox = bench.process(await notified(bench));
  await outbox.start();
  const connectionId = await bench.addConnection();
  const over = Promise.withResolvers<void>();
  bench.answer = () => {
    if (bench.calls.length === 1) {
      throw new ServiceRefusal({ status: 429, code: 'rate_limited', retryAfterMs: 300 });
    }
    over.resolve();
    return sentAs('woken');
  };
  const id = await bench.queueText(connectionId, 'Hello');
  outbox.notify(connectionId);
  await over.promise;
  await outbox.close();
  expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2, messageId: 'woken' });
});

it('a handler is called when the feed has grown, and when its next attempt is due', async () => {
  const bench = await ConsumerBench.open();
  const dispatch = bench.process({}, await notified(bench));
  await dispatch.start();
  const connection = newId();
  const over = Promise.withResolvers<void>();
  bench.answer = ({ attempt }) => {
    if (attempt === 1) throw new Error('try again');
    over.resolve();
  };
  // Numbering it wakes the readers of the feed.
  await bench.tell(connection, 'Hello');
  await over.promise;
  await dispatch.close();
  expect(bench.callsOf(connection)).toEqual(['Hello 1', 'Hello 2']);
});
