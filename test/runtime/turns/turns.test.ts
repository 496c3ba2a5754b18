import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns, type Turns } from '../../../src/runtime/turns/turns.ts';

/** Enters, and notes when it was admitted. */
function enter(turns: Turns, group: string, amount = 1) {
  const entered = { admitted: false, leave: (): void => undefined };
  void turns.enter({ group, amount }).then((leave) => {
    entered.admitted = true;
    entered.leave = leave;
  });
  return entered;
}

const admitted = async (entries: readonly { admitted: boolean }[]): Promise<boolean[]> => {
  await nextTurn();
  return entries.map((entry) => entry.admitted);
};

it('admits two at once and the others in order, even after failures', async () => {
  const turns = createTurns(2);
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) =>
    turns.run(async () => {
      log.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (name === 'b') throw new Error(name);
    });
  const all = ['a', 'b', 'c', 'd', 'e'].map(work);
  const settled = Promise.allSettled(all);
  await nextTurn();
  expect(log).toEqual(['a', 'b']);
  ends[1]?.();
  await expect(all[1]).rejects.toThrow('b');
  await nextTurn();
  expect(log).toEqual(['a', 'b', 'c']);
  ends[0]?.();
  await all[0];
  await nextTurn();
  expect(log).toEqual(['a', 'b', 'c', 'd']);
  ends[2]?.();
  await all[2];
  await nextTurn();
  ends[3]?.();
  ends[4]?.();
  await settled;
  const leave = await turns.enter();
  leave();
});

it('leaves room for others beside a group whose work takes long', async () => {
  const turns = createTurns(8);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, group?: string): void => {
    void turns.run(
      async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
      },
      { group },
    );
  };
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) begin(name, 'a');
  for (const name of ['b1', 'b2', 'b3']) begin(name, 'b');
  begin('alone');
  await nextTurn();
  expect(begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'alone']);
  expect(turns.waiting).toBe(3);
  ends.get('b1')?.();
  ends.get('a1')?.();
  await nextTurn();
  expect(begun.slice(7)).toEqual(['b3']);
  ends.get('a2')?.();
  ends.get('a3')?.();
  await nextTurn();
  expect(begun.slice(8)).toEqual(['a5']);
});

it('one group alone uses half of the capacity, and each further group half of the rest', async () => {
  const turns = createTurns(16);
  const groups = ['a', 'b', 'c', 'd'].map((name) => Array.from({ length: 16 }, () => enter(turns, name)));
  const counts = groups.map(async (entries) => (await admitted(entries)).filter(Boolean).length);
  expect(await Promise.all(counts)).toEqual([8, 4, 2, 1]);
});

it('a turn that is ended twice ends once', async () => {
  const turns = createTurns(4);
  const [first, ...others] = Array.from({ length: 4 }, () => enter(turns, 'a'));
  expect(await admitted(others)).toEqual([true, false, false]);
  first?.leave();
  first?.leave();
  expect(await admitted(others)).toEqual([true, true, false]);
});

it('those that wait are admitted in order of arrival, as far as their groups have room', async () => {
  const turns = createTurns(8);
  const held = [enter(turns, 'a', 3), enter(turns, 'b', 2), enter(turns, 'c', 1)];
  expect(await admitted(held)).toEqual([true, true, true]);
  const waiting = [enter(turns, 'a'), enter(turns, 'c', 2), enter(turns, 'c'), enter(turns, 'd')];
  expect(await admitted(waiting)).toEqual([false, false, false, true]);
  held[1]?.leave();
  // The second of `c` would fit now, but came after one of its group.
  expect(await admitted(waiting)).toEqual([false, false, false, true]);
  held[0]?.leave();
  expect(await admitted(waiting)).toEqual([true, true, false, true]);
});

it('a large amount is admitted once it fits, and more than everything counts as everything', async () => {
  const turns = createTurns(10);
  const [small, all] = [enter(turns, 'a', 1), enter(turns, 'b', 100)];
  expect(await admitted([small, all])).toEqual([true, false]);
  small.leave();
  expect(await admitted([all])).toEqual([true]);
});

it('work that fails returns what it has', async () => {
  const turns = createTurns(1);
  const failing = turns.run(() => Promise.reject(new Error('failed')), { group: 'a' });
  await expect(failing).rejects.toThrow('failed');
  expect(await turns.run(() => Promise.resolve('done'), { group: 'a' })).toBe('done');
});
