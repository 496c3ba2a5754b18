import { describe, expect, it } from 'vitest';
import { refusedOf } from '../src/data/statistics.ts';
import { latencyOf, trendOf } from '../src/screens/overview/trend.ts';
import { at, POINT } from './answers.tsx';

const STATISTICS = {
  at: at(20),
  stepSeconds: 60,
  from: at(-59 * 60),
  points: [{ ...POINT, at: at(-60) }, POINT],
};

describe('a figure over time', () => {
  it('has a column for each slot, the present one last, and none where nobody counted', () => {
    const { columns, good, bad } = trendOf(STATISTICS, ({ polls }) => ({
      good: polls.good,
      bad: polls.failed,
    }));
    expect(columns).toHaveLength(60);
    expect(columns.slice(-3)).toEqual([null, { good: 2, bad: 1 }, { good: 2, bad: 1 }]);
    expect([good, bad]).toEqual([4, 2]);
  });

  it('has no column where a level was not read', () => {
    const { columns } = trendOf(STATISTICS, () => ({ good: null }));
    expect(columns.every((column) => column === null)).toBe(true);
  });

  it('names the reasons of refused requests, the most frequent first', () => {
    expect(refusedOf(STATISTICS)).toEqual([
      ['wrong_signature', 4],
      ['stale_timestamp', 2],
    ]);
  });

  it('weighs the time until changes were taken by the calls', () => {
    const idle = { ...POINT, consumers: { ...POINT.consumers, taken: 0, latencySeconds: null } };
    const busy = { ...POINT, consumers: { ...POINT.consumers, taken: 12, latencySeconds: 1.25 } };
    expect(latencyOf({ points: [POINT, idle, busy] })).toBe(1);
    expect(latencyOf({ points: [idle] })).toBeNull();
  });
});
