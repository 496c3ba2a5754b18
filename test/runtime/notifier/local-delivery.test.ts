import { expect, it } from 'vitest';
import { LocalDelivery } from '../../../src/runtime/notifier/local-delivery.ts';
import { ManualClock } from '../../support/manual-clock.ts';

it('of several calls for a key only the earliest is made', async () => {
  const clock = new ManualClock();
  const delivery = new LocalDelivery(clock);
  const made: number[] = [];
  for (const delayMs of [400, 100, 300])
    delivery.after(delayMs, 'work', 'key', () => void made.push(clock.elapsed()));
  await clock.advance(1_000);
  expect(made).toEqual([100]);
});
