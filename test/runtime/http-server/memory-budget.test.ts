import { beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryBudget,
  type MemoryBudget,
  type Share,
} from '../../../src/runtime/http-server/memory-budget.ts';

let budget: MemoryBudget;
let gone: string[];

beforeEach(() => {
  budget = createMemoryBudget(100, 10);
  gone = [];
});

function enter(name: string, bytes: number, address: string): Share {
  const share = budget.enter(address, () => gone.push(name));
  share.grow(bytes);
  return share;
}

describe('a memory budget', () => {
  it('admits what fits, and refuses what does not', () => {
    enter('a', 60, '1');
    enter('b', 60, '2');
    enter('c', 11, '3');
    expect(gone).toEqual(['c']);
  });

  it('does not count the first bytes of a request', () => {
    enter('a', 60, '1');
    enter('b', 60, '2');
    for (let index = 0; index < 500; index += 1) enter('small', 10, '1');
    expect(gone).toEqual([]);
  });

  it('gives one address half of it', () => {
    enter('a', 35, '1');
    enter('b', 35, '1');
    enter('c', 11, '1');
    enter('other', 60, '2');
    expect(gone).toEqual(['c']);
  });

  it('counts a request as it grows, until it leaves', () => {
    const share = enter('a', 5, '1');
    share.grow(55);
    enter('b', 11, '1');
    share.leave();
    share.leave();
    share.grow(90);
    enter('c', 60, '1');
    expect(gone).toEqual(['b']);
  });

  it('has the memory of a refused request for others', () => {
    enter('a', 61, '1').leave();
    enter('b', 60, '1');
    enter('c', 60, '2');
    expect(gone).toEqual(['a']);
  });
});
