import { describe, expect, it } from 'vitest';
import { InFlight } from '../../../src/runtime/in-flight/in-flight.ts';

describe('work in flight', () => {
  it('lists the members that entered and have not left', () => {
    const inFlight = new InFlight<string>();
    const leaveA = inFlight.enter('a');
    inFlight.enter('b');
    expect([inFlight.size, inFlight.list().sort()]).toEqual([2, ['a', 'b']]);
    leaveA();
    inFlight.enter('c');
    expect([inFlight.size, inFlight.list().sort()]).toEqual([2, ['b', 'c']]);
  });

  it('uses as many slots as were ever taken at once, however many members came and went', () => {
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

  it('accepts the same member twice, and removes it once for each', () => {
    const inFlight = new InFlight<string>();
    const [leave] = [inFlight.enter('a'), inFlight.enter('a')];
    leave();
    expect(inFlight.list()).toEqual(['a']);
  });
});
