import { beforeEach, describe, expect, it } from 'vitest';
import { watchEventLoop } from '../../../src/runtime/event-loop/watch-event-loop.ts';
import { logTo } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A clock whose timers can run late, as during a computation. */
class HeldClock extends ManualClock {
  #heldMs = 0;

  override elapsed(): number {
    return super.elapsed() + this.#heldMs;
  }

  hold(ms: number): void {
    this.#heldMs += ms;
  }
}

let clock: HeldClock;
let lines: string[];
let stop: () => void;
let usedMs: number;

beforeEach(() => {
  clock = new HeldClock();
  lines = [];
  usedMs = 0;
  stop = watchEventLoop({
    clock,
    logger: logTo('warn', (line) => lines.push(line)),
    processorMs: () => usedMs,
  });
});

describe('a blocked event loop', () => {
  it('is reported afterwards, with its duration', async () => {
    await clock.advance(5_000);
    expect(lines).toEqual([]);
    clock.hold(20_000);
    await clock.advance(500);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', ms: 20_000 });
    stop();
  });

  it.each([
    ['a computation', 19_000, /probably a handler, blocked the event loop/],
    ['a lack of CPU time', 200, /the process got no CPU time/],
  ])('is attributed to %s', async (_what, computedMs, cause) => {
    // Long before: only what the process computed in this time counts.
    usedMs += 60_000;
    await clock.advance(5_000);
    usedMs += computedMs;
    clock.hold(20_000);
    await clock.advance(500);
    expect(JSON.parse(lines[0] ?? '').msg).toMatch(cause);
    stop();
  });

  it('is not reported below a second, and at most once a minute', async () => {
    clock.hold(1_000);
    await clock.advance(500);
    expect(lines).toEqual([]);
    for (let times = 0; times < 10; times += 1) {
      clock.hold(2_000);
      await clock.advance(500);
    }
    expect(lines).toHaveLength(1);
    clock.hold(60_000);
    await clock.advance(500);
    expect(lines).toHaveLength(2);
    stop();
    expect(clock.pending).toBe(0);
  });
});
