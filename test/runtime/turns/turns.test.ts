import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../../src/runtime/turns/turns.ts';

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
    void turns.run(async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    }, group);
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
  await nextTurn();
  expect(begun.slice(8)).toEqual(['a5']);
});
