import { describe, expect, it } from 'vitest';
import { InFlight } from '../../../src/runtime/in-flight/in-flight.ts';

describe('what is under way', () => {
  it('lists those who entered and have not left', () => {
    const inFlight = new InFlight<string>();
    const leaveA = inFlight.enter('a');
    inFlight.enter('b');
    expect([inFlight.size, inFlight.list().sort()]).toEqual([2, ['a', 'b']]);
    leaveA();
    inFlight.enter('c');
    expect([inFlight.size, inFlight.list().sort()]).toEqual([2, ['b', 'c']]);
  });

  it('holds as many places as were ever taken at once, however many came and went', () => {
    const inFlight = new InFlight<{ readonly turn: number }>();
    const stays = inFlight.enter({ turn: -1 });
    for (let turn = 0; turn < 10_000; turn += 1) {
      const leave = [inFlight.enter({ turn }), inFlight.enter({ turn })];
      for (const one of turn % 2 === 0 ? leave : leave.reverse()) one();
    }
    expect(inFlight.list()).toEqual([{ turn: -1 }]);
    stays();
    expect([inFlight.size, inFlight.list()]).toEqual([0, []]);
  });

  it('takes the same member twice, and lets it go once for each', () => {
    const inFlight = new InFlight<string>();
    const [leave] = [inFlight.enter('a'), inFlight.enter('a')];
    leave();
    expect(inFlight.list()).toEqual(['a']);
  });
});
