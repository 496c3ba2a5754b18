import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { paced } from '../src/data/gather.ts';

describe('what is read again when it changes', () => {
  /** When it began to be read, in milliseconds since the first change. */
  let reads: number[];
  let change: () => void;
  const since = Date.UTC(2026, 0, 15);

  /** Changes come every 10 ms for a time. */
  async function change10(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      change();
      await vi.advanceTimersByTimeAsync(10);
    }
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: since });
    reads = [];
    change = paced(async () => void reads.push(Date.now() - since));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is read a tenth of a second after a change, once for all changes of that time', async () => {
    change();
    change();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(reads).toEqual([100]);
  });

  it('is read less and less often while it changes all the time', async () => {
    await change10(10_000);
    // 100 ms after a change, and after 100, 200, 400, 800, 1,000, 1,000 ms of rest.
    expect(reads.slice(0, 7)).toEqual([100, 300, 600, 1_100, 2_000, 3_100, 4_200]);
    expect(reads.length).toBeLessThanOrEqual(12);
  });

  it('is read at once again after a quiet time, and never misses the last change', async () => {
    await change10(3_000);
    const last = reads.length;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(reads.length).toBe(last + 1);
    const quiet = Date.now() - since;
    change();
    await vi.advanceTimersByTimeAsync(100);
    change();
    await vi.advanceTimersByTimeAsync(200);
    expect(reads.slice(-2)).toEqual([quiet + 100, quiet + 300]);
  });
});
