import { expect, it } from 'vitest';
import { backOffMs } from '../../../src/runtime/clock/back-off.ts';

it('a wait doubles from the first to the maximum', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((failures) =>
    backOffMs(failures, { firstMs: 1_000, longestMs: 10_000 }),
  );
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
});

it('a wait never exceeds the maximum, however many failures precede it', () => {
  expect(backOffMs(1_000_000, { firstMs: 1_000, longestMs: 300_000 })).toBe(300_000);
});

it('jitter shortens a wait by no more than its share', () => {
  const times = { firstMs: 1_000, longestMs: 10_000, spread: 0.5 };
  expect(backOffMs(2, times, 0)).toBe(2_000);
  expect(backOffMs(2, times, 0.5)).toBe(1_500);
  expect(backOffMs(2, times, 1)).toBe(1_000);
});
