import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import { identifyProcess } from '../../../../src/runtime/database/embedded/process-identity.ts';
import { withStartLock } from '../../../../src/runtime/database/embedded/start-lock.ts';

describe('the start lock', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lock-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  const lock = <T>(work: () => Promise<T>, deadlineMs = 20_000): Promise<T> =>
    withStartLock(folder, { clock: systemClock, deadlineMs }, work);

  it('admits one holder at a time, however many wait', async () => {
    let inside = 0;
    let most = 0;
    let entered = 0;
    const visits = Array.from({ length: 12 }, () =>
      lock(async () => {
        inside += 1;
        entered += 1;
        most = Math.max(most, inside);
        await readdir(folder);
        inside -= 1;
      }),
    );
    await Promise.all(visits);
    expect({ most, entered }).toEqual({ most: 1, entered: 12 });
  });

  it('is released after failed work', async () => {
    await expect(lock(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await lock(() => Promise.resolve('in'))).toBe('in');
  });

  it.each([
    ['a process that is gone', { pid: 2 ** 22 + 1, started: '1@boot' }],
    ['a process whose number is another one now', { pid: process.pid, started: '1@boot before the last' }],
  ])('is taken over from %s by one of many', async (_, holder) => {
    await writeFile(join(folder, 'lock.7'), JSON.stringify(holder));
    let inside = 0;
    const visits = Array.from({ length: 6 }, () =>
      lock(async () => {
        inside += 1;
        expect(inside).toBe(1);
        await readdir(folder);
        inside -= 1;
      }),
    );
    await Promise.all(visits);
  });

  it('is not taken over from a running process', async () => {
    await writeFile(join(folder, 'lock.3'), JSON.stringify(await identifyProcess(process.pid)));
    await expect(lock(() => Promise.resolve(), 60)).rejects.toThrow(/for too long/);
  });

  it('leaves one file', async () => {
    for (let visit = 0; visit < 5; visit += 1) await lock(() => Promise.resolve());
    expect(await readdir(folder)).toEqual(['lock.5']);
  });
});
