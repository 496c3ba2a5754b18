import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceRefusal } from '../../../src/connector/service-client/service-errors.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { silentLogger } from '../support/event-fixtures.ts';
import { OutboxBench, sentAs } from './outbox-bench.ts';

const NO_LOOK_MS = 3_600_000;

let bench: OutboxBench;
beforeAll(async () => {
  bench = await OutboxBench.open();
});
afterAll(() => bench.close());

it('a queue is notified for real, now and when its next attempt is due', async () => {
  const notifier = await openNotifier({
    database: bench.database,
    databaseUrl: bench.databaseUrl,
    prefix: 'connector',
    clock: systemClock,
    logger: silentLogger,
  });
  const outbox = bench.process({
    notifier,
    clock: systemClock,
    lookEveryMs: NO_LOOK_MS,
  });
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
  await notifier.close();
});
