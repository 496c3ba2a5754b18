import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextRun, writeSchedule } from '../../../src/runtime/queue/jittered-repeat.ts';

describe('the next run of a schedule', () => {
  it('lies within the jitter around the period', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 86_400_000 }),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        fc.integer({ min: 0, max: 4_000_000_000_000 }),
        (everyMs, jitter, previous) => {
          const next = nextRun(previous, { pattern: writeSchedule(everyMs, jitter) }) ?? Number.NaN;
          const interval = next - previous;
          expect(interval).toBeGreaterThanOrEqual(everyMs * (1 - jitter) - 1);
          expect(interval).toBeLessThanOrEqual(everyMs * (1 + jitter) + 1);
        },
      ),
      { examples: [[86_400_000, 0.000_000_5, 0]] },
    );
  });

  it('is spread over the whole range, around the period', () => {
    const pattern = writeSchedule(45_000, 1 / 3);
    const intervals = Array.from({ length: 2_000 }, () => nextRun(0, { pattern }) ?? 0);
    const mean = intervals.reduce((sum, interval) => sum + interval, 0) / intervals.length;

    expect(Math.min(...intervals)).toBeGreaterThanOrEqual(30_000);
    expect(Math.min(...intervals)).toBeLessThan(31_000);
    expect(Math.max(...intervals)).toBeLessThanOrEqual(60_000);
    expect(Math.max(...intervals)).toBeGreaterThan(59_000);
    expect(Math.abs(mean - 45_000)).toBeLessThan(1_000);
  });

  it('is exact without jitter', () => {
    expect(nextRun(1_000, { pattern: writeSchedule(500, 0) })).toBe(1_500);
  });

  it('is unknown for a pattern that is none of ours', () => {
    expect(nextRun(1_000, { pattern: '* * * * *' })).toBeUndefined();
    expect(nextRun(1_000, {})).toBeUndefined();
  });

  it.each([
    [0, 0],
    [1.5, 0],
    [1_000, -0.1],
    [1_000, 0.91],
    [1_000, Number.NaN],
  ])('is refused for every %d ms with jitter %d', (everyMs, jitter) => {
    expect(() => writeSchedule(everyMs, jitter)).toThrow(TypeError);
  });
});
