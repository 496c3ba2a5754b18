import { describe, expect, it } from 'vitest';
import { hourOf } from '../../src/console/screens/overview/hour.ts';

const NOW = Date.UTC(2026, 0, 15, 12, 30, 30);
const MINUTE = 60_000;
const ago = (minutes: number): number => NOW - minutes * MINUTE;

describe('the last hour', () => {
  it('has a column for each of 60 minutes, the present one last', () => {
    const { columns, good, bad } = hourOf(NOW, 0, [
      { at: NOW },
      { at: ago(1), isBad: true },
      { at: ago(1) },
      { at: ago(59) },
      { at: ago(60) },
    ]);
    expect(columns).toHaveLength(60);
    expect([columns[0], columns[58], columns[59]]).toEqual([
      { good: 1, bad: 0 },
      { good: 1, bad: 1 },
      { good: 1, bad: 0 },
    ]);
    expect([good, bad]).toEqual([3, 1]);
  });

  it('knows nothing of minutes that are not known as a whole, and says no number for them', () => {
    const { columns, good } = hourOf(NOW, ago(2), [{ at: ago(2) }, { at: ago(1) }]);
    expect(columns.filter((column) => column === null)).toHaveLength(58);
    expect(columns.at(-2)).toEqual({ good: 1, bad: 0 });
    expect(good).toBe(1);
  });
});
