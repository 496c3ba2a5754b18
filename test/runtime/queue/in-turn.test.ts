import { describe, expect, it } from 'vitest';
import { createTurns } from '../../../src/runtime/queue/in-turn.ts';
import { defer } from './calls.ts';

describe('work in turn', () => {
  it('runs in the order of the calls, one after the other', async () => {
    const inTurn = createTurns();
    const gate = defer();
    const seen: string[] = [];
    const first = inTurn('a', async () => {
      await gate.promise;
      seen.push('first');
    });
    const second = inTurn('a', () => Promise.resolve(seen.push('second')));
    gate.resolve();
    await Promise.all([first, second]);
    expect(seen).toEqual(['first', 'second']);
  });

  it('does not wait for work of another name', async () => {
    const inTurn = createTurns();
    void inTurn('a', () => new Promise(() => undefined));
    expect(await inTurn('b', () => Promise.resolve('done'))).toBe('done');
  });

  it('goes on after a failure, which its caller alone is told of', async () => {
    const inTurn = createTurns();
    const first = inTurn('a', () => Promise.reject(new Error('broken')));
    const second = inTurn('a', () => Promise.resolve('done'));
    await expect(first).rejects.toThrow('broken');
    expect(await second).toBe('done');
  });
});
