import { expect, it } from 'vitest';
import { createQueueFloors } from '../../../src/connector/outbox/queue-floors.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SECOND = 1_000;

it('the next send of a queue is looked for above those that had finished 15 seconds ago', async () => {
  const clock = new ManualClock();
  const floors = createQueueFloors(clock);
  expect(floors.of('c')).toBe(0);
  floors.note('c', 10);
  await clock.advance(10 * SECOND);
  floors.note('c', 20);
  expect(floors.of('c')).toBe(0);
  await clock.advance(5 * SECOND);
  floors.note('c', 30);
  expect(floors.of('c')).toBe(9);
  expect(floors.of('other')).toBe(0);
  await clock.advance(15 * SECOND);
  floors.note('c', 30);
  expect(floors.of('c')).toBe(29);
  floors.doubt('c');
  expect([floors.takeDoubt('c'), floors.takeDoubt('c'), floors.takeDoubt('other')]).toEqual([
    true,
    false,
    false,
  ]);
  expect(floors.of('c')).toBe(29);
  floors.forget('c');
  expect(floors.of('c')).toBe(0);
});
