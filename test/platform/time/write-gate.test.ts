import { describe, expect, test } from 'vitest';
import { createWriteGate } from '../../../src/platform/time/write-gate.ts';

/** A piece of work that a test ends by hand. */
function work(log: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = async (): Promise<void> => {
    log.push(`${name} in`);
    await promise;
    log.push(`${name} out`);
  };
  return { run, end: resolve };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('write gate', () => {
  test('is shared by writers', async () => {
    const gate = createWriteGate();
    const log: string[] = [];
    const [one, two] = [work(log, 'one'), work(log, 'two')];
    const both = [gate.shared(one.run), gate.shared(two.run)];
    await turn();
    expect(log).toEqual(['one in', 'two in']);
    one.end();
    two.end();
    await Promise.all(both);
  });

  test('an exclusive holder waits for writers, and later writers wait for it', async () => {
    const gate = createWriteGate();
    const log: string[] = [];
    const [writer, mover, late] = [work(log, 'writer'), work(log, 'mover'), work(log, 'late')];
    const all = [gate.shared(writer.run), gate.exclusive(mover.run), gate.shared(late.run)];
    await turn();
    expect(log).toEqual(['writer in']);
    writer.end();
    await turn();
    expect(log).toEqual(['writer in', 'writer out', 'mover in']);
    mover.end();
    await turn();
    expect(log.slice(3)).toEqual(['mover out', 'late in']);
    late.end();
    await Promise.all(all);
  });

  test('two exclusive holders run one after the other', async () => {
    const gate = createWriteGate();
    const log: string[] = [];
    const [one, two] = [work(log, 'one'), work(log, 'two')];
    const both = [gate.exclusive(one.run), gate.exclusive(two.run)];
    await turn();
    expect(log).toEqual(['one in']);
    one.end();
    two.end();
    await Promise.all(both);
    expect(log).toEqual(['one in', 'one out', 'two in', 'two out']);
  });

  test('is open again after an error', async () => {
    const gate = createWriteGate();
    const fail = async (): Promise<void> => {
      throw new Error('broken');
    };
    await expect(gate.shared(fail)).rejects.toThrow('broken');
    await expect(gate.exclusive(fail)).rejects.toThrow('broken');
    expect(await gate.exclusive(async () => 'through')).toBe('through');
  });
});
