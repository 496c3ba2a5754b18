import { describe, expect, it } from 'vitest';
import { percentile, ratioOf, spreadOf } from '../../bench/report/statistics.ts';

describe('a spread', () => {
  it('has the middle of an odd number of rounds', () => {
    expect(spreadOf([30, 10, 20])).toEqual({ median: 20, min: 10, max: 30 });
  });

  it('has the mean of the two middle ones of an even number', () => {
    expect(spreadOf([40, 10, 20, 30])).toEqual({ median: 25, min: 10, max: 40 });
  });

  it('refuses no rounds', () => {
    expect(() => spreadOf([])).toThrow(RangeError);
  });
});

describe('a percentile', () => {
  it('is the value at the nearest rank', () => {
    const values = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile([7], 0.99)).toBe(7);
  });
});

describe('a ratio', () => {
  it('divides round by round', () => {
    const ratio = ratioOf('x', { atLeast: 0.5 }, [4, 9, 8], [10, 10, 10]);
    expect(ratio).toMatchObject({ median: 0.8, min: 0.4, max: 0.9, reached: true });
  });

  it('is not reached by a median under an "at least"', () => {
    expect(ratioOf('x', { atLeast: 0.5 }, [4, 4, 9], [10, 10, 10]).reached).toBe(false);
  });

  it('is not reached by a median at a "below"', () => {
    expect(ratioOf('x', { below: 1 }, [5], [5]).reached).toBe(false);
    expect(ratioOf('x', { below: 1 }, [4], [5]).reached).toBe(true);
  });
});
