import { expect, it } from 'vitest';
import { createShares, type Shares } from '../../../src/runtime/turns/shares.ts';

/** Enters, and notes when it was admitted. */
function enter(shares: Shares, group: string, amount: number): { admitted: boolean; leave: () => void } {
  const entered = { admitted: false, leave: (): void => undefined };
  void shares.enter(group, amount).then((leave) => {
    entered.admitted = true;
    entered.leave = leave;
  });
  return entered;
}

const admitted = async (entries: readonly { admitted: boolean }[]): Promise<number> => {
  await new Promise((resolve) => setImmediate(resolve));
  return entries.filter((entry) => entry.admitted).length;
};

it('one group alone uses half of the capacity, and each further group half of the rest', async () => {
  const shares = createShares(16);
  const groups = ['a', 'b', 'c', 'd'].map((name) => Array.from({ length: 16 }, () => enter(shares, name, 1)));
  expect(await Promise.all(groups.map(admitted))).toEqual([8, 4, 2, 1]);
});

it('the callers of a group are admitted in order, as soon as there is room', async () => {
  const shares = createShares(4);
  const [first, second, third, fourth] = ['x', 'x', 'x', 'x'].map((name) => enter(shares, name, 1));
  expect(await admitted([first, second, third, fourth].flatMap((entry) => entry ?? []))).toBe(2);
  first?.leave();
  first?.leave();
  await admitted([]);
  expect([third?.admitted, fourth?.admitted]).toEqual([true, false]);
});

it('the group that uses least is admitted first', async () => {
  const shares = createShares(8);
  const held = [enter(shares, 'a', 3), enter(shares, 'b', 2), enter(shares, 'c', 1)];
  expect(await admitted(held)).toBe(3);
  const [much, little] = [enter(shares, 'a', 1), enter(shares, 'c', 1)];
  expect(await admitted([much, little])).toBe(0);
  held[1]?.leave();
  await admitted([]);
  expect([much.admitted, little.admitted]).toEqual([false, true]);
});

it('a large amount is admitted once it fits, and more than everything counts as everything', async () => {
  const shares = createShares(10);
  const [small, all] = [enter(shares, 'a', 1), enter(shares, 'b', 100)];
  expect(await admitted([small, all])).toBe(1);
  small.leave();
  expect(await admitted([all])).toBe(1);
});

it('work that fails returns its share', async () => {
  const shares = createShares(1);
  await expect(shares.run('a', 1, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await shares.run('a', 1, () => Promise.resolve('done'))).toBe('done');
});
