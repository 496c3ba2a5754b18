import { describe, expect, it } from 'vitest';
import { alignInAnyOrder, alignInOrder } from '../../../src/sandbox/conditions/align.ts';

/** Entries are letters; a step matches each of its letters. */
const fitsOf = (steps: readonly string[], entries: string) => (step: number, place: number) =>
  steps[step]?.includes(entries[place] ?? '') === true;

describe('an alignment in order', () => {
  it.each<[string[], string, (number | null)[]]>([
    [[], 'ab', []],
    [['a'], '', [null]],
    [['a', 'b'], 'ab', [0, 1]],
    [['a', 'b'], 'axxb', [0, 3]],
    [['a', 'b'], 'ba', [1, null]],
    [['a', 'a'], 'a', [0, null]],
    [['b', 'a', 'b'], 'ab', [null, 0, 1]],
    // The first step must leave the only `a` to the second.
    [['ab', 'a', 'c'], 'bac', [0, 1, 2]],
    [['ab', 'a'], 'ab', [0, null]],
    [['x', 'a', 'b', 'c'], 'cab', [null, 1, 2, null]],
  ])('of %j with %j is %j', (steps, entries, expected) => {
    expect(alignInOrder(steps.length, entries.length, fitsOf(steps, entries))).toEqual(expected);
  });
});

describe('an alignment in any order', () => {
  it.each<[string[], string, (number | null)[]]>([
    [['a', 'b'], 'ba', [1, 0]],
    [['a', 'a'], 'a', [0, null]],
    // The first step must take the other one.
    [['ab', 'a'], 'ab', [1, 0]],
    [['ab', 'bc', 'a'], 'abc', [1, 2, 0]],
    [['x', 'a'], 'a', [null, 0]],
  ])('of %j with %j is %j', (steps, entries, expected) => {
    expect(alignInAnyOrder(steps.length, entries.length, fitsOf(steps, entries))).toEqual(expected);
  });
});
