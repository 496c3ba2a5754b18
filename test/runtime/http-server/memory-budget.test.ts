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

function enter(name: string, bytes: number): Share {
  const share = budget.enter(() => gone.push(name));
  share.grow(bytes);
  return share;
}

describe('a memory budget', () => {
  it('admits what fits, and refuses what does not', () => {
    enter('a', 60);
    enter('b', 60);
    enter('c', 11);
    expect(gone).toEqual(['c']);
  });

  it('does not count the first bytes of a request', () => {
    enter('a', 60);
    enter('b', 60);
    for (let index = 0; index < 500; index += 1) enter('small', 10);
    expect(gone).toEqual([]);
  });

  it('counts a request as it grows, until it leaves', () => {
    const share = enter('a', 5);
    share.grow(105);
    enter('b', 11);
    share.leave();
    share.leave();
    share.grow(200);
    enter('c', 110);
    enter('d', 11);
    expect(gone).toEqual(['b', 'd']);
  });

  it('has the memory of a refused request for others', () => {
    enter('a', 111).leave();
    enter('b', 60);
    enter('c', 60);
    expect(gone).toEqual(['a']);
  });
});
