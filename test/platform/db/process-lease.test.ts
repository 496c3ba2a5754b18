import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { currentProcess, findState } from '../../../src/platform/db/process-identity.ts';
import { PlatformAlreadyRuns, takeProcessLease } from '../../../src/platform/db/process-lease.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../../src/runtime/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { silentLogger } from '../../support/platform.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

describe('process lease', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    testDatabase = await createTestDatabase({ platform: true });
    database = openDatabase({
      url: testDatabase.url,
      name: 'test',
      clock: systemClock,
      logger: silentLogger,
    });
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });
  beforeEach(() => database.query('DELETE FROM platform.process_lease'));

  const take = (clock = new ManualClock(), onLost = (): void => {}) =>
    takeProcessLease({ database, clock, logger: silentLogger, onLost });

  const pretend = (holder: { host?: string; pid?: number; pidStart?: string }) =>
    database.query('UPDATE platform.process_lease SET owner = $1, host = $2, pid = $3, pid_start = $4', [
      'someone else',
      holder.host ?? hostname(),
      holder.pid ?? process.pid,
      holder.pidStart ?? currentProcess().pidStart,
    ]);

  test('a second platform is refused with the running process and what to do', async () => {
    await take();
    const second = take();
    await expect(second).rejects.toBeInstanceOf(PlatformAlreadyRuns);
    await expect(second).rejects.toThrow(new RegExp(`process ${process.pid} .*another database`));
  });

  test('one of ten that start at once gets it', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => take()));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  });

  test('is free as soon as it is released', async () => {
    const first = await take();
    await first.release();
    await expect(take()).resolves.toMatchObject({ owner: expect.any(String) });
  });

  test('of another machine is taken over once it has expired', async () => {
    const clock = new ManualClock();
    const first = await take(clock);
    await pretend({ host: 'another-machine' });
    clock.jump(9_999);
    await expect(take(clock)).rejects.toThrow(/another-machine/);
    clock.jump(1);
    const second = await take(clock);
    expect(second.owner).not.toBe(first.owner);
  });

  test('is extended by the heartbeat', async () => {
    const clock = new WatchedClock();
    await take(clock);
    await clock.timerSet(2_500);
    for (let beat = 0; beat < 4; beat += 1) {
      await clock.advance(2_500);
      await clock.timerSet(2_500);
    }
    await database.query('UPDATE platform.process_lease SET host = $1', ['another-machine']);
    await expect(take(clock)).rejects.toBeInstanceOf(PlatformAlreadyRuns);
  });

  test('of a process that has ended is taken over at once', async () => {
    await take();
    const child = spawn('true');
    await once(child, 'exit');
    await pretend({ pid: child.pid ?? 0 });
    await expect(take()).resolves.toMatchObject({ owner: expect.any(String) });
  });

  test('of a process whose pid was reused is taken over at once', async () => {
    await take();
    await pretend({ pidStart: currentProcess().pidStart.replace(/\d+$/, '1') });
    await expect(take()).resolves.toMatchObject({ owner: expect.any(String) });
  });

  test.each([
    ['boot', (start: string) => start.replace(/^[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'))],
    ['container', (start: string) => start.replace(/pid:\[\d+\]/, 'pid:[1]')],
  ])('is not taken over from a process of another %s', async (_what, change) => {
    await take();
    const pidStart = change(currentProcess().pidStart);
    expect(pidStart).not.toBe(currentProcess().pidStart);
    await pretend({ pid: 999_999_999, pidStart });
    await expect(take()).rejects.toBeInstanceOf(PlatformAlreadyRuns);
  });

  test('a process that lost it learns this at its next heartbeat', async () => {
    const clock = new WatchedClock();
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    await take(clock, resolve);
    await clock.timerSet(2_500);
    await pretend({ host: 'another-machine' });
    await clock.advance(2_500);
    await expect(lost).resolves.toBeUndefined();
  });

  test('of a killed platform is available to the next one at once', async () => {
    const program = new URL('../../support/hold-platform.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, testDatabase.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    await expect(take()).rejects.toThrow(new RegExp(`process ${child.pid} `));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect(take()).resolves.toMatchObject({ owner: expect.any(String) });
  });

  test('the current process has not ended', () => {
    expect(findState(currentProcess())).toBe('running');
    expect(findState({ ...currentProcess(), host: 'another-machine', pid: 999_999_999 })).toBe('unknown');
  });
});
