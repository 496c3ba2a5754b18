import { describe, expect, it } from 'vitest';
import { UnderWay } from '../../../src/runtime/under-way/under-way.ts';

describe('what is under way', () => {
  it('lists those who entered and have not left', () => {
    const underWay = new UnderWay<string>();
    const leaveA = underWay.enter('a');
    underWay.enter('b');
    expect([underWay.size, underWay.list().sort()]).toEqual([2, ['a', 'b']]);
    leaveA();
    underWay.enter('c');
    expect([underWay.size, underWay.list().sort()]).toEqual([2, ['b', 'c']]);
  });

  it('holds as many places as were ever taken at once, however many came and went', () => {
    const underWay = new UnderWay<{ readonly turn: number }>();
    const stays = underWay.enter({ turn: -1 });
    for (let turn = 0; turn < 10_000; turn += 1) {
      const leave = [underWay.enter({ turn }), underWay.enter({ turn })];
      for (const one of turn % 2 === 0 ? leave : leave.reverse()) one();
    }
    expect(underWay.list()).toEqual([{ turn: -1 }]);
    stays();
    expect([underWay.size, underWay.list()]).toEqual([0, []]);
  });

  it('takes the same member twice, and lets it go once for each', () => {
    const underWay = new UnderWay<string>();
    const [leave] = [underWay.enter('a'), underWay.enter('a')];
    leave();
    expect(underWay.list()).toEqual(['a']);
  });
});
