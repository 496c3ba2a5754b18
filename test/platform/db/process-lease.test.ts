import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { PlatformAlreadyRuns, takeProcessLease } from '../../../src/platform/db/process-lease.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { openTestDatabase } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { silentLogger } from '../../support/platform.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

describe('the claim of a process on its database', () => {
  const opened = ofFile(() => openTestDatabase({ platform: true }));

  const take = (onLost = (): void => {}, clock = new WatchedClock()) =>
    takeProcessLease({ database: opened.database, clock, logger: silentLogger, onLost });
  /** Ends the connections that have the lock, as a restart of the database does. */
  const cut = () =>
    opened.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
  const holders = () =>
    opened.database.query<{ pid: number }>(
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );

  test('a second platform is refused, and told what to do', async () => {
    const release = await take();
    const second = take();
    await expect(second).rejects.toBeInstanceOf(PlatformAlreadyRuns);
    await expect(second).rejects.toThrow(/Stop it, or use another database/);
    await release();
  });

  test('one of ten that start at once gets it, and it is free as soon as it is released', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => take()));
    const taken = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(taken).toHaveLength(1);
    await taken[0]?.value();
    const next = await take();
    await next();
  });

  test('a process whose connection ended claims it again', async () => {
    let lost = 0;
    const release = await take(() => {
      lost += 1;
    });
    const [before] = await holders();
    await cut();
    // The connection ends some time after it was told to.
    await expect.poll(async () => (await holders()).filter(({ pid }) => pid !== before?.pid)).toHaveLength(1);
    await expect(take()).rejects.toBeInstanceOf(PlatformAlreadyRuns);
    expect(lost).toBe(0);
    await release();
  });

  test('a process that cannot reach the database says so once, and once that it is back', async () => {
    const clock = new ManualClock();
    const said: string[] = [];
    const say = (...words: readonly unknown[]) => void said.push(String(words.at(-1)));
    let cutOff = (): void => undefined;
    let attempts = 0;
    const lock: Database['lock'] = async (_name, onLost) => {
      cutOff = onLost;
      attempts += 1;
      if (attempts > 1 && attempts < 5) throw new Error('the database is away');
      return async () => undefined;
    };
    const logger = { ...silentLogger, warn: say, info: say } as typeof silentLogger;
    const release = await takeProcessLease({
      database: { ...opened.database, lock } as Database,
      clock,
      logger,
      onLost: () => expect.fail('nobody else has it'),
    });
    cutOff();
    for (let seconds = 0; seconds < 5; seconds += 1) await clock.advance(1_000);
    expect([attempts, ...said]).toEqual([
      5,
      'the lock of the database could not be taken again; retrying',
      'the lock of the database is taken again',
    ]);
    await release();
  });

  test('a process that another one has taken it from learns this', async () => {
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    let cutOff = (): void => undefined;
    let isCut = false;
    let release: (() => Promise<void>) | null = null;
    const first: Database['lock'] = async (name, onLost) => {
      if (isCut) return opened.database.lock(name, onLost);
      cutOff = onLost;
      release = await opened.database.lock(name, () => undefined);
      return release;
    };
    const fragile = { ...opened.database, lock: first } as Database;
    await takeProcessLease({
      database: fragile,
      clock: new WatchedClock(),
      logger: silentLogger,
      onLost: resolve,
    });
    isCut = true;
    await (release as (() => Promise<void>) | null)?.();
    const second = await take();
    cutOff();
    await expect(lost).resolves.toBeUndefined();
    await second();
  });

  test('that of a killed platform is available to the next one at once', async () => {
    const program = new URL('../../support/hold-platform.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program, opened.url], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await expect(take()).rejects.toBeInstanceOf(PlatformAlreadyRuns);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const next = await take();
    await next();
  });
});
