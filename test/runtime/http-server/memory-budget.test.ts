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

describe('a budget of memory', () => {
  it('lets everything in that fits', () => {
    enter('a', 60);
    enter('b', 40);
    expect([budget.bytes, gone]).toEqual([100, []]);
  });

  it('makes room among those of the address that holds most', () => {
    enter('a', 30, 'one');
    enter('b', 30, 'many');
    enter('c', 31, 'many');
    enter('good', 20, 'one');
    expect([budget.bytes, gone]).toEqual([80, ['c']]);
  });

  it('lets the largest go first', () => {
    enter('small', 10);
    enter('large', 80);
    enter('newcomer', 20);
    expect(gone).toEqual(['large']);
  });

  it('lets the slowest go first among those of one size', async () => {
    for (const name of ['first', 'second', 'third', 'fourth']) {
      enter(name, 25);
      await clock.advance(10);
    }
    enter('quick', 1);
    expect(gone).toEqual(['first']);
  });

  it('lets one that has been slow go before a larger one that has just come', async () => {
    enter('slow', 30);
    await clock.advance(10);
    enter('large', 60);
    enter('newcomer', 20);
    expect(gone).toEqual(['slow']);
  });

  it('finds room for what is small and quick, however much the same address holds', async () => {
    for (let index = 0; index < 500; index += 1) {
      enter(`flood ${index}`, 10);
      if (index % 5 === 0) enter(`good ${index}`, 1).leave();
      await clock.advance(1);
    }
    expect(gone.length).toBeGreaterThan(400);
    expect(gone.filter((name) => name.startsWith('good'))).toEqual([]);
    expect(budget.bytes).toBeLessThanOrEqual(MAX);
  });

  it('refuses the newcomer that is itself the largest', () => {
    enter('small', 10);
    const large = enter('large', 50);
    large.grow(50);
    expect([budget.bytes, gone]).toEqual([10, ['large']]);
  });

  it('counts what a request takes until it leaves, and nothing afterwards', () => {
    const share = enter('a', 10);
    share.grow(40);
    expect(budget.bytes).toBe(50);
    share.leave();
    share.leave();
    share.grow(90);
    expect([budget.bytes, gone]).toEqual([0, []]);
  });
});
