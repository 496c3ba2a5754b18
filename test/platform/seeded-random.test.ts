import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';

const draws = (seed: number, count: number): number[] => {
  const draw = seededRandom(seed);
  return Array.from({ length: count }, () => draw());
};

describe('seeded random', () => {
  test('repeats with its seed, and differs with another', () => {
    expect(draws(7, 50)).toEqual(draws(7, 50));
    expect(draws(7, 50)).not.toEqual(draws(8, 50));
  });

  test('draws evenly from 0 to below 1', () => {
    const drawn = draws(1, 100_000);
    const tenths = Array.from({ length: 10 }, (_, tenth) =>
      drawn.filter((value) => Math.floor(value * 10) === tenth),
    );
    for (const tenth of tenths) expect(Math.abs(tenth.length - 10_000)).toBeLessThan(500);
  });
});
