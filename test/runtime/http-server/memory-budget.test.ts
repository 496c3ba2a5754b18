import { beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryBudget,
  type MemoryBudget,
  type Share,
} from '../../../src/runtime/http-server/memory-budget.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MAX = 100;
let clock: ManualClock;
let budget: MemoryBudget;
let gone: string[];

beforeEach(() => {
  clock = new ManualClock();
  budget = createMemoryBudget(clock, MAX);
  gone = [];
});

function enter(name: string, bytes: number, address = 'flood'): Share {
  return budget.enter(address, bytes, () => gone.push(name));
}

describe('a memory budget', () => {
  it('admits everything that fits', () => {
    enter('a', 60);
    enter('b', 40);
    expect([budget.bytes, gone]).toEqual([100, []]);
  });

  it('makes room among those of the address that uses the most', () => {
    enter('a', 30, 'one');
    enter('b', 30, 'many');
    enter('c', 31, 'many');
    enter('good', 20, 'one');
    expect([budget.bytes, gone]).toEqual([80, ['c']]);
  });

  it('evicts the largest first', () => {
    enter('small', 10);
    enter('large', 80);
    enter('newcomer', 20);
    expect(gone).toEqual(['large']);
  });

  it('evicts the slowest first among those of equal size', async () => {
    for (const name of ['first', 'second', 'third', 'fourth']) {
      enter(name, 25);
      await clock.advance(10);
    }
    enter('quick', 1);
    expect(gone).toEqual(['first']);
  });

  it('evicts one that has been slow before a larger one that has just arrived', async () => {
    enter('slow', 30);
    await clock.advance(10);
    enter('large', 60);
    enter('newcomer', 20);
    expect(gone).toEqual(['slow']);
  });

  it('makes room for what is small and fast, however much the same address uses', async () => {
    for (let index = 0; index < 500; index += 1) {
      enter(`flood ${index}`, 10);
      if (index % 5 === 0) enter(`good ${index}`, 1).leave();
      await clock.advance(1);
    }
    expect(gone.length).toBeGreaterThan(400);
    expect(gone.filter((name) => name.startsWith('good'))).toEqual([]);
    expect(budget.bytes).toBeLessThanOrEqual(MAX);
  });

  it('rejects a newcomer that is itself the largest', () => {
    enter('small', 10);
    const large = enter('large', 50);
    large.grow(50);
    expect([budget.bytes, gone]).toEqual([10, ['large']]);
  });

  it('counts the memory of a request until it ends', () => {
    const share = enter('a', 10);
    share.grow(40);
    expect(budget.bytes).toBe(50);
    share.leave();
    share.leave();
    share.grow(90);
    expect([budget.bytes, gone]).toEqual([0, []]);
  });
});
