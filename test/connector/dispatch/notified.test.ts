import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { newId, silentLogger } from '../support/event-fixtures.ts';
import { DispatchBench } from './dispatch-bench.ts';

const NO_LOOK_MS = 3_600_000;

let bench: DispatchBench;
beforeAll(async () => {
  bench = await DispatchBench.open();
});
afterAll(() => bench.close());

it('a connection is notified for real when it has a change and when that is due again', async () => {
  const notifier = await openNotifier({
    database: bench.database,
    databaseUrl: bench.databaseUrl,
    prefix: 'connector',
    clock: systemClock,
    logger: silentLogger,
  });
  const dispatch = bench.process({}, { notifier, clock: systemClock, lookEveryMs: NO_LOOK_MS });
  await dispatch.start();
  const connection = newId();
  const over = Promise.withResolvers<void>();
  bench.answer = ({ attempt }) => {
    if (attempt === 1) throw new Error('try again');
    over.resolve();
  };
  // Numbering it tells dispatch that the feed has grown.
  await bench.tell(connection, 'Hello');
  await over.promise;
  await dispatch.close();
  expect(bench.callsOf(connection)).toEqual([
    ['Hello', 1],
    ['Hello', 2],
  ]);
  await notifier.close();
});
