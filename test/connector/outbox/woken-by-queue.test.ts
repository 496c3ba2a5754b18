import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceRefusal } from '../../../src/connector/service-client/service-errors.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openQueues } from '../../../src/runtime/queue/open-queues.ts';
import { silentLogger } from '../support/event-fixtures.ts';
import { OutboxBench, sentAs } from './outbox-bench.ts';

const NO_SWEEP_MS = 3_600_000;

let bench: OutboxBench;
beforeAll(async () => {
  bench = await OutboxBench.open();
});
afterAll(() => bench.close());

it('a lane is woken by a real queue, now and when its next attempt is due', async () => {
  const queues = await openQueues({
    databaseUrl: bench.databaseUrl,
    prefix: 'connector',
    clock: systemClock,
    logger: silentLogger,
  });
  const outbox = bench.process({
    queues,
    clock: systemClock,
    sweepEveryMs: NO_SWEEP_MS,
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
  await outbox.wake(connectionId);
  await over.promise;
  await outbox.close();
  expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2, messageId: 'woken' });
  await queues.close();
});
