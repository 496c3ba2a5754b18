import { beforeEach, expect, it } from 'vitest';
import { createPlans, type Plans } from '../../../src/connector/work/planned.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const HOUR = 3_600_000;
let clock: ManualClock;
let dueAtOf: Plans;

beforeEach(() => {
  clock = new ManualClock(0);
  dueAtOf = createPlans(clock, 60_000);
});

it('a time within the longest wait stays as it was planned', () => {
  expect([-HOUR, 0, 60_000].map((planned) => dueAtOf('a', planned))).toEqual([-HOUR, 0, 60_000]);
});

it('a time further ahead is due once it has stayed the same for the longest wait', async () => {
  expect(dueAtOf('a', HOUR)).toBe(HOUR);
  await clock.advance(59_999);
  expect(dueAtOf('a', HOUR)).toBe(HOUR);
  await clock.advance(1);
  expect(dueAtOf('a', HOUR)).toBe(60_000);
  expect(dueAtOf('b', HOUR)).toBe(HOUR);
  // Planned anew meanwhile, so it has not stayed the same.
  expect([60_000, HOUR].map((planned) => dueAtOf('a', planned))).toEqual([60_000, HOUR]);
});

it('a time further ahead waits as long as whoever planned it plans again, whatever is done to our clock', async () => {
  for (let planned = HOUR; planned < HOUR + 10; planned += 1) {
    expect(dueAtOf('a', planned)).toBe(planned);
    await clock.advance(59_999);
    clock.jump(-59_999);
  }
});
