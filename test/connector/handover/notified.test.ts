import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { newId, silentLogger } from '../support/event-fixtures.ts';
import { HandoverBench } from './handover-bench.ts';

const NO_LOOK_MS = 3_600_000;

let bench: HandoverBench;
beforeAll(async () => {
  bench = await HandoverBench.open();
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
  const handover = bench.process({}, { notifier, clock: systemClock, lookEveryMs: NO_LOOK_MS });
  await handover.start();
  const connection = newId();
  const over = Promise.withResolvers<void>();
  bench.answer = ({ attempt }) => {
    if (attempt === 1) throw new Error('try again');
    over.resolve();
  };
  // Numbering it tells the hand-over that the feed has grown.
  await bench.tell(connection, 'Hello');
  await over.promise;
  await handover.close();
  expect(bench.callsOf(connection)).toEqual([
    ['Hello', 1],
    ['Hello', 2],
  ]);
  await notifier.close();
});
