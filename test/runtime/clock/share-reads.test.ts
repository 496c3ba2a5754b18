import { describe, expect, it } from 'vitest';
import { shareReads } from '../../../src/runtime/clock/share-reads.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A read that takes 300 ms, shared for 1 s if `fresh`, and how often it began. */
function open({ takesMs = 300, fresh = true, fails = false } = {}) {
  const clock = new ManualClock();
  let begun = 0;
  const share = shareReads(
    async () => {
      begun += 1;
      const number = begun;
      await clock.sleep(takesMs);
      if (fails) throw new Error(`read ${number}`);
      return `read ${number}`;
    },
    fresh ? { clock, ms: 1_000 } : undefined,
  );
  const read = (): Promise<string> => share().catch(({ message }: Error) => message);
  return { clock, read, begun: () => begun };
}

describe('a shared read', () => {
  it('serves everybody who asks while it runs, and nobody afterwards', async () => {
    const { clock, read } = open({ fresh: false });
    const first = [read(), read()];
    await clock.advance(300);
    expect(await Promise.all(first)).toEqual(['read 1', 'read 1']);
    const second = read();
    await clock.advance(300);
    expect(await second).toBe('read 2');
  });

  it.each([{ fails: false }, { fails: true }])(
    'serves until a second after it began, each time: %j',
    async (options) => {
      const { clock, read, begun } = open(options);
      for (const number of [1, 2]) {
        const answers = [read()];
        expect(begun()).toBe(number);
        await clock.advance(999);
        answers.push(read());
        expect(begun()).toBe(number);
        expect(await Promise.all(answers)).toEqual([`read ${number}`, `read ${number}`]);
        await clock.advance(1);
      }
    },
  );

  it('that takes longer than a second is not kept', async () => {
    const { clock, read, begun } = open({ takesMs: 1_500 });
    void read();
    await clock.advance(1_500);
    void read();
    expect(begun()).toBe(2);
  });
});
