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
