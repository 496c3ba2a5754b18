import { rmSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { ObjectRefused, StoreFailure } from '../../../src/connector/media/media-store.ts';
import { FileUnavailable } from '../../../src/connector/media/open-file.ts';
import type { Worker } from '../../../src/connector/work/worker.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';
import { KeeperBench } from './keeper-bench.ts';

const HOUR_MS = 3_600_000;
const STORED = { state: 'stored', size: 5 };

const database = databaseOfFile();
let bench: KeeperBench;
let keeper: Worker;

beforeEach(async () => {
  bench = await KeeperBench.open(database);
  return () => bench.close();
});

/** Passes time, and works on what is due then. */
async function pass(ms: number): Promise<void> {
  await bench.clock.skip(ms);
  await keeper.settle();
}
const countFetches = (): number => bench.log.filter((entry) => entry === 'fetch').length;

it('a file that cannot be fetched is tried again with growing waits, 20 times, and has failed then', async () => {
  bench.file = new FileUnavailable('unreachable', 'the file request returned 503');
  await bench.receive('m1');
  ({ keeper } = await bench.start());
  await keeper.settle();
  expect([countFetches(), (await bench.read())?.state]).toEqual([1, 'pending']);
  await pass(4_999);
  expect(countFetches()).toBe(1);
  await pass(1);
  expect(countFetches()).toBe(2);
  await pass(9_999);
  expect(countFetches()).toBe(2);
  for (let hours = 0; hours < 18; hours += 1) await pass(HOUR_MS);
  expect(countFetches()).toBe(20);
  expect(await bench.read()).toMatchObject({ state: 'failed', error: 'the file request returned 503' });
  expect([await bench.readChanges(), bench.told]).toEqual([['message.created', 'message.updated'], 1]);
  await pass(HOUR_MS);
  expect(countFetches()).toBe(20);
});

it.each([
  ['gone', 'gone'],
  ['redirected', 'failed'],
  ['refused', 'failed'],
] as const)(
  'a file that is %s is tried again, as a proxy may be restarting, and is %s after four attempts',
  async (kind, state) => {
    bench.file = new FileUnavailable(kind, 'no');
    await bench.receive('m1');
    ({ keeper } = await bench.start());
    await keeper.settle();
    for (const [attempts, waitMs] of [60_000, 120_000, 240_000].entries()) {
      await pass(waitMs - 1);
      expect([countFetches(), await bench.read()]).toMatchObject([
        attempts + 1,
        { state: 'pending', error: 'no' },
      ]);
      await pass(1);
    }
    expect([countFetches(), await bench.read()]).toMatchObject([4, { state, error: 'no' }]);
    await pass(HOUR_MS);
    expect(countFetches()).toBe(4);
  },
);

it.each(['gone', 'redirected', 'refused'] as const)(
  'a file that could not be fetched at first, and is %s once, is tried again and stored',
  async (kind) => {
    const { file } = bench;
    bench.file = new FileUnavailable('unreachable', 'the file request returned 503');
    await bench.receive('m1');
    ({ keeper } = await bench.start());
    await keeper.settle();
    await pass(5_000);
    await pass(10_000);
    bench.file = new FileUnavailable(kind, 'no');
    await pass(20_000);
    expect([countFetches(), await bench.read()]).toMatchObject([4, { state: 'pending', error: 'no' }]);
    bench.file = file;
    await pass(60_000);
    expect(await bench.read()).toMatchObject(STORED);
  },
);

it('the files of a connection that are not answered leave room for those of others', async () => {
  const answered = Promise.withResolvers<void>();
  bench.onFetch = (url) => (url.endsWith('/c1') ? answered.promise : Promise.resolve());
  for (let n = 1; n <= 12; n += 1) await bench.receive(`hanging-${n}`);
  await bench.receive('other', 'c2');
  ({ keeper } = await bench.start());
  const settled = keeper.settle();
  await expect.poll(() => bench.read('other')).toMatchObject(STORED);
  expect(countFetches()).toBe(3);
  answered.resolve();
  await settled;
  expect(await bench.read('hanging-12')).toMatchObject(STORED);
});

it('a file that cannot be fetched is left to a process whose clock is two hours ahead as long as that plans', async () => {
  bench.file = new FileUnavailable('unreachable', 'the file request returned 503');
  await bench.receive('m1');
  ({ keeper } = await bench.start());
  await keeper.settle();
  for (let rounds = 0; rounds < 20; rounds += 1) {
    await database.query('update connector.messages set media_due_at = $1', [
      bench.clock.now() + 2 * HOUR_MS + rounds + 300_000,
    ]);
    await keeper.settle();
    await pass(300_000);
  }
  expect(countFetches()).toBe(1);
  await pass(HOUR_MS);
  expect(countFetches()).toBe(2);
});

it('a file that the store refuses has failed after 20 attempts, and others wait for none', async () => {
  const error = 'the bucket of files answered 400 EntityTooLarge';
  await bench.receive('m1');
  await bench.receive('m2');
  ({ keeper } = await bench.start(database, {
    async put(key, ...content) {
      if (key.includes('/m1-')) throw new ObjectRefused(error);
      await bench.disk.put(key, ...content);
    },
  }));
  await keeper.settle();
  expect(await bench.read('m2')).toMatchObject(STORED);
  expect(await bench.read('m1')).toMatchObject({ state: 'pending', error });
  for (let hours = 0; hours < 20; hours += 1) await pass(HOUR_MS);
  expect(await bench.read('m1')).toMatchObject({ state: 'failed', error });
  expect(countFetches()).toBe(20 + 1);
});

it('files that fail together count once, so the next one waits 5 s', async () => {
  const both = Promise.withResolvers<void>();
  let failed = 0;
  ({ keeper } = await bench.start(database, {
    async put(...content) {
      if (failed === 2) return await bench.disk.put(...content);
      failed += 1;
      if (failed === 2) both.resolve();
      await both.promise;
      throw new StoreFailure('away');
    },
  }));
  await bench.receive('m1');
  await bench.receive('m2');
  await keeper.settle();
  await bench.receive('m3');
  await pass(4_999);
  expect([failed, (await bench.read('m3'))?.state]).toEqual([2, 'pending']);
  await pass(1);
  expect(await bench.read('m3')).toMatchObject(STORED);
});

it('files wait for a store that is away, use up no attempts, and are stored soon after it is back', async () => {
  // Root may write anywhere: a file where the folder should be fails for everybody.
  const takeAway = (): void => {
    rmSync(bench.folder, { recursive: true });
    writeFileSync(bench.folder, 'not a folder');
  };
  takeAway();
  const ids = ['m1', 'm2', 'm3'];
  for (const id of ids) await bench.receive(id);
  ({ keeper } = await bench.start());
  await keeper.settle();
  for (let minutes = 0; minutes < 60; minutes += 1) await pass(60_000);
  for (const id of ids) {
    const copy = await bench.read(id);
    expect(copy).toMatchObject({
      state: 'pending',
      error: expect.stringMatching(/^the folder of files failed: E\w+$/),
    });
    expect(copy).not.toHaveProperty('attempts');
  }
  expect(await bench.readChanges()).toEqual(['message.created', 'message.created', 'message.created']);
  // What has a key is looked for in the store before it is fetched again.
  expect(countFetches()).toBe(3);
  rmSync(bench.folder);
  await pass(120_000);
  for (const id of ids) expect(await bench.read(id)).toMatchObject(STORED);
  // It fails once more: the long waits were those of the first time.
  takeAway();
  await bench.receive('m4');
  await keeper.settle();
  expect(await bench.read('m4')).toMatchObject({ state: 'pending' });
  rmSync(bench.folder);
  await bench.receive('m5');
  await pass(5_000);
  expect(await bench.read('m5')).toMatchObject(STORED);
});
