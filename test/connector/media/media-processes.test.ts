import { beforeEach, expect, it } from 'vitest';
import type { MediaStore } from '../../../src/connector/media/media-store.ts';
import { FileUnavailable } from '../../../src/connector/media/open-file.ts';
import { erasePerson } from '../../../src/connector/people/erase-person.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';
import { KeeperBench } from './keeper-bench.ts';

const PERSON = '15551234567';
const KEY = 'account-1/c1/2026/01/m1-277089d9';

const database = databaseOfFile(8);
let bench: KeeperBench;
let disk: MediaStore;

beforeEach(async () => {
  bench = await KeeperBench.open(database);
  ({ disk } = bench);
  await bench.receive('m1');
  return () => bench.close();
});

const STORED = { state: 'stored', key: KEY, size: 5 };

it.each(['before', 'after'] as const)(
  'a process that dies %s any of its statements loses nothing',
  async (moment) => {
    const begun = await bench.read();
    let deaths = 0;
    // Its work is 12 statements.
    for (let at = 1; at <= 14; at += 1) {
      await database.query('update connector.messages set media_copy = $1::text::jsonb', [
        JSON.stringify(begun),
      ]);
      await disk.remove(KEY);
      const dying = dyingDatabase(database, at, moment);
      const first = await bench.start(dying.database).catch(() => undefined);
      await first?.keeper.settle().catch(() => undefined);
      deaths += Number(dying.died);
      await bench.buryAll();
      const { keeper, presence } = await bench.start();
      await keeper.settle();
      await keeper.close();
      await presence.stop();
      expect(await bench.read(), `statement ${at}`).toMatchObject(STORED);
      expect(await disk.sizeOf(KEY)).toBe(5);
    }
    expect(deaths).toBeGreaterThan(8);
  },
);

it('a file that was stored before the process died is kept, although the service no longer has it', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await bench
    .start(dying.database, {
      async put(...args) {
        await disk.put(...args);
        dying.kill();
      },
    })
    .catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  expect(await bench.read()).toMatchObject({ state: 'pending', key: KEY });
  bench.file = new FileUnavailable('gone', 'the file no longer exists');
  await bench.buryAll();
  const { keeper } = await bench.start();
  await keeper.settle();
  expect(await bench.read()).toMatchObject(STORED);
});

it('what an attempt stored under another key is removed', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await bench
    .start(dying.database, {
      async put() {
        dying.kill();
      },
    })
    .catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  bench.file = 'other bytes';
  await bench.buryAll();
  const removed: string[] = [];
  const { keeper } = await bench.start(database, {
    async remove(key) {
      removed.push(key);
    },
  });
  await keeper.settle();
  expect(removed).toEqual([KEY]);
  expect(await bench.read()).toMatchObject({ state: 'stored', size: 11 });
});

it('two processes do not work on the same file', async () => {
  const stored = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: Partial<MediaStore> = {
    async put(...args) {
      stored.resolve();
      await goOn.promise;
      await disk.put(...args);
    },
  };
  const first = await bench.start(database, slow);
  const settled = first.keeper.settle();
  await stored.promise;
  const second = await bench.start();
  await second.keeper.settle();
  goOn.resolve();
  await settled;
  expect(bench.log).toEqual(['fetch']);
  expect(await bench.read()).toMatchObject(STORED);
  expect(await bench.readChanges()).toEqual(['message.created', 'message.updated']);
});

it.each(['gone', 'refused'] as const)(
  'a file whose address a poll renews while the old one is %s is fetched from the new one',
  async (kind) => {
    bench.file = new FileUnavailable(kind, 'no');
    await database.query(
      `update connector.messages set media_copy = media_copy || '{"attempts": 3, "doubts": 3}'`,
    );
    bench.onFetch = async () => {
      if (bench.log.length > 1) bench.file = 'bytes';
      await database.query("update connector.messages set media_url = 'https://files.example/2'");
    };
    const { keeper } = await bench.start();
    await keeper.settle();
    expect(await bench.read()).toMatchObject(STORED);
    expect(bench.log).toEqual(['fetch', 'fetch', `put ${KEY}`]);
  },
);

it('a person who is erased while the file is being stored leaves no file', async () => {
  const { keeper } = await bench.start(database, {
    async put(...args) {
      await disk.put(...args);
      await erasePerson({ database, mediaStore: disk }, PERSON, bench.clock.now());
    },
  });
  await keeper.settle();
  await bench.clock.skip(60_000);
  await keeper.settle();
  expect(await bench.read()).toBeNull();
  expect(await disk.sizeOf(KEY)).toBeNull();
});

it('a person who is erased while the file is being stored leaves no file, although that process dies', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await bench
    .start(dying.database, {
      async put(...args) {
        await erasePerson({ database, mediaStore: disk }, PERSON, bench.clock.now());
        await disk.put(...args);
        dying.kill();
      },
    })
    .catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  expect(await disk.sizeOf(KEY)).toBe(5);
  await bench.buryAll();
  const { keeper } = await bench.start();
  await keeper.settle();
  expect([await bench.read(), await disk.sizeOf(KEY)]).toEqual([null, null]);
});

it('a person who is erased while the file is being fetched leaves no file', async () => {
  const fetching = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  bench.onFetch = async () => {
    fetching.resolve();
    await goOn.promise;
  };
  const { keeper } = await bench.start();
  const settled = keeper.settle();
  await fetching.promise;
  await erasePerson({ database, mediaStore: disk }, PERSON, bench.clock.now());
  goOn.resolve();
  await settled;
  expect(bench.log).toEqual(['fetch']);
  expect([await bench.read(), await disk.sizeOf(KEY)]).toEqual([null, null]);
});
