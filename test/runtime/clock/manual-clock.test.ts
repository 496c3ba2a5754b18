import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../support/manual-clock.ts';

describe('the manual clock', () => {
  it('runs what is due in order and leaves the rest', async () => {
    const clock = new ManualClock(1_000);
    const seen: string[] = [];
    clock.after(30, () => seen.push(`c@${clock.now()}`));
    clock.after(10, () => seen.push(`a@${clock.now()}`));
    clock.after(10, () => seen.push(`b@${clock.now()}`));
    clock.after(31, () => seen.push('late'));

    await clock.advance(30);

    expect(seen).toEqual(['a@1010', 'b@1010', 'c@1030']);
    expect(clock.now()).toBe(1_030);
    expect(clock.elapsed()).toBe(30);
    expect(clock.pending).toBe(1);
  });

  it('runs a timer that another timer sets within the same advance', async () => {
    const clock = new ManualClock(0);
    const seen: number[] = [];
    const tick = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await clock.sleep(10);
        seen.push(clock.elapsed());
      }
    };
    const done = tick();

    await clock.advance(100);
    await done;

    expect(seen).toEqual([10, 20, 30]);
  });

  it('runs no cancelled timer', async () => {
    const clock = new ManualClock();
    let ran = false;
    clock.after(5, () => {
      ran = true;
    })();

    await clock.advance(10);

    expect(ran).toBe(false);
  });

  it('rejects a sleep when its signal aborts and keeps no timer', async () => {
    const clock = new ManualClock();
    const abort = new AbortController();
    const sleeping = clock.sleep(1_000, abort.signal);
    abort.abort(new Error('stopped'));

    await expect(sleeping).rejects.toThrow('stopped');
    expect(clock.pending).toBe(0);
  });

  it('moves the wall clock without firing timers', async () => {
    const clock = new ManualClock(0);
    let ran = false;
    clock.after(5, () => {
      ran = true;
    });
    clock.jump(3_600_000);
    await clock.advance(4);

    expect(clock.now()).toBe(3_600_004);
    expect(clock.elapsed()).toBe(4);
    expect(ran).toBe(false);
  });
});
