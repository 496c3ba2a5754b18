import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { setMediaKeeping } from '../../../src/connector/db/media-copies.ts';
import type { StoredCopy } from '../../../src/connector/db/message-tables.ts';
import { createDiskStore } from '../../../src/connector/media/disk-store.ts';
import { createMediaKeeper } from '../../../src/connector/media/media-keeper.ts';
import type { MediaStore } from '../../../src/connector/media/media-store.ts';
import { FileUnavailable } from '../../../src/connector/media/open-file.ts';
import { erasePerson } from '../../../src/connector/people/erase-person.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Worker } from '../../../src/connector/work/worker.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { dyingDatabase } from '../../support/dying-database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { emptyTables, openConnectorDatabase, received, silentLogger, T0 } from '../support/event-fixtures.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';

const PERSON = '15551234567';
const KEY = 'account-1/c1/2026/01/m1-277089d9';

let database: Database;
let close: () => Promise<void>;
let clock: ManualClock;
let folder: string;
let disk: MediaStore;
/** What is done with the store, in order. */
let log: string[];
/** The bytes of the file at the service; null: it is gone. */
let bytes: string | null;
let running: { keeper: Worker; presence: Presence }[];

beforeAll(async () => {
  ({ database, close } = await openConnectorDatabase(8));
});
beforeEach(async () => {
  await emptyTables(database);
  await setMediaKeeping(database, true);
  clock = new ManualClock();
  folder = mkdtempSync(join(tmpdir(), 'messaging-connector-media-'));
  disk = createDiskStore(folder);
  log = [];
  bytes = 'bytes';
  running = [];
  const facts = received('c1', 'm1', {
    text: null,
    mediaUrl: 'https://files.example/1',
    mediaType: 'image/png',
  });
  await commitBatch(database, { now: T0, messages: [facts], via: 'test' });
  return async () => {
    for (const { keeper, presence } of running) {
      await keeper.close().catch(() => undefined);
      await presence.stop().catch(() => undefined);
    }
    rmSync(folder, { recursive: true, force: true });
  };
});
afterAll(() => close());

/** A process that keeps files. */
async function start(
  own: Database = database,
  store: Partial<MediaStore> = {},
): Promise<{ keeper: Worker; presence: Presence }> {
  const base = { database: own, clock, logger: silentLogger };
  const presence = createPresence({ ...base, works: true });
  const keeper = createMediaKeeper({
    ...base,
    presence,
    notifier: new ManualNotifier(),
    random: () => 0,
    onCommitted: () => undefined,
    async openFile() {
      log.push('fetch');
      if (bytes === null) throw new FileUnavailable('gone', 'the file no longer exists');
      const file = Buffer.from(bytes);
      return {
        contentType: 'image/png',
        length: file.length,
        bytes: (async function* () {
          yield file;
        })(),
        close: () => undefined,
      };
    },
    store: {
      ...disk,
      put(...args) {
        log.push(`put ${args[0]}`);
        return disk.put(...args);
      },
      ...store,
    },
  });
  running.push({ keeper, presence });
  await presence.start();
  await keeper.start();
  return { keeper, presence };
}

async function read(): Promise<StoredCopy | null> {
  const [row] = await database.query<{ copy: StoredCopy | null }>(
    'select media_copy as copy from connector.messages',
  );
  return row?.copy ?? null;
}

async function countChanges(): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    "select count(*) from connector.changes where type like 'message.%'",
  );
  return row?.count ?? 0;
}

/** A process is taken for dead. */
const bury = (id: string) => database.query('delete from connector.processes where id = $1', [id]);

const STORED = { state: 'stored', key: KEY, size: 5 };

it.each(['before', 'after'] as const)(
  'a process that dies %s any of its statements loses nothing',
  async (moment) => {
    const begun = await read();
    let deaths = 0;
    // Its work is 12 statements.
    for (let at = 1; at <= 14; at += 1) {
      await database.query('update connector.messages set media_copy = $1::text::jsonb', [
        JSON.stringify(begun),
      ]);
      await disk.remove(KEY);
      const dying = dyingDatabase(database, at, moment);
      const first = await start(dying.database).catch(() => undefined);
      await first?.keeper.settle().catch(() => undefined);
      deaths += Number(dying.died);
      for (const each of running.splice(0)) await bury(each.presence.id);
      const { keeper, presence } = await start();
      await keeper.settle();
      await keeper.close();
      await presence.stop();
      expect(await read(), `statement ${at}`).toMatchObject(STORED);
      expect(await disk.sizeOf(KEY)).toBe(5);
    }
    expect(deaths).toBeGreaterThan(8);
  },
);

it('a file that was stored before the process died is kept, although the service no longer has it', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await start(dying.database, {
    async put(...args) {
      await disk.put(...args);
      dying.kill();
    },
  }).catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  expect(await read()).toMatchObject({ state: 'pending', key: KEY });
  bytes = null;
  for (const { presence } of running) await bury(presence.id);
  const { keeper } = await start();
  await keeper.settle();
  expect(await read()).toMatchObject(STORED);
});

it('what an attempt stored under another key is removed', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await start(dying.database, {
    async put() {
      dying.kill();
    },
  }).catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  bytes = 'other bytes';
  for (const { presence } of running) await bury(presence.id);
  const removed: string[] = [];
  const { keeper } = await start(database, {
    async remove(key) {
      removed.push(key);
    },
  });
  await keeper.settle();
  expect(removed).toEqual([KEY]);
  expect(await read()).toMatchObject({ state: 'stored', size: 11 });
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
  const first = await start(database, slow);
  const settled = first.keeper.settle();
  await stored.promise;
  const second = await start();
  await second.keeper.settle();
  goOn.resolve();
  await settled;
  expect(log).toEqual(['fetch']);
  expect(await read()).toMatchObject(STORED);
  expect(await countChanges()).toBe(2);
});

it('a person who is erased while the file is being stored leaves no file', async () => {
  const { keeper } = await start(database, {
    async put(...args) {
      await disk.put(...args);
      await erasePerson({ database, mediaStore: disk }, PERSON, clock.now());
    },
  });
  await keeper.settle();
  await clock.skip(60_000);
  await keeper.settle();
  expect(await read()).toBeNull();
  expect(await disk.sizeOf(KEY)).toBeNull();
});

it('a person who is erased while the file is being stored leaves no file, although that process dies', async () => {
  const dying = dyingDatabase(database, Number.POSITIVE_INFINITY, 'before');
  const first = await start(dying.database, {
    async put(...args) {
      await erasePerson({ database, mediaStore: disk }, PERSON, clock.now());
      await disk.put(...args);
      dying.kill();
    },
  }).catch(() => undefined);
  await first?.keeper.settle().catch(() => undefined);
  expect(await disk.sizeOf(KEY)).toBe(5);
  for (const { presence } of running) await bury(presence.id);
  const { keeper } = await start();
  await keeper.settle();
  expect([await read(), await disk.sizeOf(KEY)]).toEqual([null, null]);
});

it('a person who is erased while the file is being fetched leaves no file', async () => {
  const { keeper } = await start(database, {
    async put() {
      throw new Error('nothing is stored');
    },
  });
  await erasePerson({ database, mediaStore: disk }, PERSON, clock.now());
  await keeper.settle();
  expect([await read(), await disk.sizeOf(KEY)]).toEqual([null, null]);
});
