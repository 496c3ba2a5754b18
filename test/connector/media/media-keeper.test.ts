import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readWaitingFiles } from '../../../src/connector/db/media-copies.ts';
import { MediaWorld, PERSON } from './media-world.ts';

// printf bytes | sha256sum
const SHA256 = '277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9';
const HOUR_MS = 3_600_000;

let media: MediaWorld;

/** For tests that start no other process: each has messages of its own, and finds neither files nor requests. */
function withOneWorld(): void {
  beforeAll(async () => {
    media = await MediaWorld.open();
  });
  beforeEach(() => media.forget());
  afterAll(() => media.close());
}
function withOwnWorld(): void {
  beforeEach(async () => {
    media = await MediaWorld.open();
  });
  afterEach(() => media.close());
}

const STORED = { state: 'stored', sha256: SHA256, size: 5, error: null };
const keyOf = (id: string): string => {
  const created = new Date(media.world.clock.now());
  const month = String(created.getUTCMonth() + 1).padStart(2, '0');
  return `default/c1/${created.getUTCFullYear()}/${month}/${id}-277089d9`;
};

const GONE = { status: 404, body: 'x' };
/** The address of the file in the list of the service, which a poll reads. */
async function list(id: string, mediaUrl: string): Promise<void> {
  const { service, clock } = media.world;
  service.messages = [];
  service.addMessage('c1', clock.now(), { id, shown: { mediaUrl } });
  await media.running.ask('POST', '/v1/sync');
  await media.settle();
}
const addressOf = (path: string): string => `${new URL(media.world.service.baseUrl).origin}/media/${path}`;
/** All attempts after which a file counts as gone. */
async function settleGone(): Promise<void> {
  await media.settle();
  for (const _attempt of [2, 3, 4]) await media.pass(5 * 60_000);
}

async function receiveGone(): Promise<string> {
  media.file = GONE;
  const id = await media.receive();
  await settleGone();
  return id;
}

/** More bytes than the buffers of a connection hold. */
async function receiveLarge(): Promise<string> {
  const id = await media.receiveAndCopy();
  writeFileSync(`${media.folder}/${keyOf(id)}`, 'x'.repeat(8 * 2 ** 20));
  return id;
}

describe('the file of a message', () => {
  withOneWorld();

  it('is pending, then stored, with its key, its digest and its size', async () => {
    const id = await media.receive();
    expect(await media.copyOf(id)).toEqual({
      state: 'pending',
      key: null,
      sha256: null,
      size: null,
      error: null,
    });
    await media.settle();
    expect(await media.copyOf(id)).toEqual({ ...STORED, key: keyOf(id) });
    expect(media.files).toEqual({ [keyOf(id)]: 'bytes' });
  });

  it('is told with the message and again once it is stored', async () => {
    const id = await media.receiveAndCopy();
    expect(await media.statesOf(id)).toEqual([
      ['message.created', 'pending'],
      ['message.updated', 'stored'],
    ]);
  });

  it('is read from the store, whatever becomes of it at the service', async () => {
    const id = await media.receiveAndCopy();
    media.file = { status: 404, body: 'x' };
    const answer = await media.download(id);
    expect([answer.status, await answer.text()]).toEqual([200, 'bytes']);
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(answer.headers.get('content-length')).toBe('5');
  });

  it.skipIf(process.platform !== 'linux').each(['read', 'asked for by HEAD', 'broken off'])(
    'is open no longer once it is %s',
    async (how) => {
      const id = await receiveLarge();
      const answer = await media.download(id, { method: how === 'asked for by HEAD' ? 'HEAD' : 'GET' });
      if (how === 'broken off') await answer.body?.cancel();
      else await answer.arrayBuffer();
      await expect.poll(() => media.openFiles).toEqual([]);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'is no longer open two minutes after its reader has stopped reading',
    async () => {
      const id = await receiveLarge();
      const answer = await media.download(id);
      expect(media.openFiles).toHaveLength(1);
      await media.world.clock.skip(120_000);
      await expect.poll(() => media.openFiles).toEqual([]);
      await expect(answer.arrayBuffer()).rejects.toThrow();
    },
  );

  it('is fetched from the service if the store has lost it, or fails', async () => {
    const id = await media.receiveAndCopy();
    const path = `${media.folder}/${keyOf(id)}`;
    rmSync(path);
    expect(await (await media.download(id)).text()).toBe('bytes');
    const month = dirname(path);
    rmSync(month, { recursive: true });
    writeFileSync(month, 'not a folder');
    expect(await (await media.download(id)).text()).toBe('bytes');
    rmSync(month);
  });

  it('is fetched once, whatever repeats the message', async () => {
    const id = await media.receiveAndCopy();
    await media.receive({ id });
    await media.running.ask('POST', '/v1/sync');
    await media.settle();
    expect([media.fetches, (await media.statesOf(id)).length]).toEqual([1, 2]);
  });

  it('has a key that leads nowhere else, whatever its ids are', async () => {
    for (const id of ['../../../../etc/passwd', '..', 'a/b', 'a\\b', 'm'.repeat(255)]) {
      await media.receive({ id });
    }
    await media.settle();
    const keys = Object.keys(media.files);
    expect(keys).toHaveLength(5);
    for (const key of keys) expect(key).toMatch(/^default\/c1\/\d{4}\/\d\d\/[0-9a-f]{32}-277089d9$/);
  });
});

describe('a file that cannot be fetched', () => {
  withOneWorld();

  it('is gone if the service no longer has it', async () => {
    for (const status of [404, 410]) {
      media.file = { status, body: 'x' };
      const id = await media.receive();
      await settleGone();
      expect(await media.copyOf(id)).toMatchObject({ state: 'gone', error: 'the file no longer exists' });
      expect((await media.statesOf(id)).at(-1)).toEqual(['message.updated', 'gone']);
    }
    expect(media.files).toEqual({});
  });

  it('is not left in the store if it is gone after an attempt that a killed process had stored', async () => {
    const id = await media.receiveAndCopy();
    await media.world.database.query(
      `UPDATE connector.messages SET media_due_at = 0, media_copy = media_copy || '{"state":"pending","size":9}'
        WHERE id = $1`,
      [id],
    );
    media.file = GONE;
    await settleGone();
    expect([(await media.copyOf(id))?.state, media.files]).toEqual(['gone', {}]);
  });

  it('has failed if its address or its answer is not safe, and the reason never names the address', async () => {
    const id = await media.receive({ media_url: 'http://169.254.169.254/secret' });
    await settleGone();
    expect(await media.copyOf(id)).toMatchObject({
      state: 'failed',
      error: 'the address of the file is not on the public internet',
    });
  });

  it('is fetched once the service has it again, and on request after it has failed', async () => {
    media.file = { status: 503, body: 'x' };
    const id = await media.receiveAndCopy();
    media.file = { status: 404, body: 'x' };
    await media.pass(5 * 60_000);
    await settleGone();
    expect((await media.copyOf(id))?.state).toBe('gone');
    media.file = { status: 200, body: 'bytes' };
    expect((await media.running.ask('POST', `/v1/messages/${id}/media`)).status).toBe(200);
    await media.settle();
    expect(await media.statesOf(id)).toEqual([
      ['message.created', 'pending'],
      ['message.updated', 'gone'],
      ['message.updated', 'pending'],
      ['message.updated', 'stored'],
    ]);
  });
});

describe('a file that is gone, and whose address a poll renews', () => {
  withOneWorld();

  it('is fetched from there, and both are told', async () => {
    const id = await receiveGone();
    media.file = { status: 200, body: 'bytes' };
    await list(id, addressOf('2'));
    expect(media.world.service.requests.findLast(({ path }) => path.startsWith('/media/'))?.path).toBe(
      '/media/2',
    );
    expect(await media.copyOf(id)).toMatchObject(STORED);
    expect(await media.statesOf(id)).toEqual([
      ['message.created', 'pending'],
      ['message.updated', 'gone'],
      ['message.updated', 'pending'],
      ['message.updated', 'stored'],
    ]);
  });

  it('stays gone if the address is the same', async () => {
    const id = await receiveGone();
    await list(id, addressOf('1'));
    expect([media.fetches, (await media.copyOf(id))?.state]).toEqual([4, 'gone']);
  });

  it('stays gone if the service does not have it there either, however often it signs addresses anew', async () => {
    const id = await receiveGone();
    for (const path of ['2', '3', '4']) {
      await list(id, addressOf(path));
      await settleGone();
    }
    expect([media.fetches, (await media.copyOf(id))?.state]).toEqual([8, 'gone']);
  });
});

describe('erasing a person', () => {
  withOneWorld();

  const erase = () => media.running.ask('DELETE', `/v1/people/${PERSON}`);

  it('removes the stored files', async () => {
    const id = await media.receive();
    const another = await media.receive({ from: '447700900999' });
    await media.settle();
    const file = Object.keys(media.files).find((name) => name.includes(`/${id}-`));
    writeFileSync(`${media.folder}/${file}.part`, 'what an interrupted write has left');
    expect((await erase()).status).toBe(200);
    expect(Object.keys(media.files)).toEqual([expect.stringContaining(`/${another}-`)]);
  });

  it('ends what is pending', async () => {
    const id = await media.receive();
    expect((await erase()).status).toBe(200);
    await media.pass(HOUR_MS);
    expect([media.fetches, media.files]).toEqual([0, {}]);
    expect((await media.running.ask('GET', `/v1/messages/${id}`)).status).toBe(404);
  });

  it('erases nothing while the store does not answer, and can be repeated', async () => {
    const id = await media.receiveAndCopy();
    const key = keyOf(id);
    const month = `${media.folder}/${key.slice(0, key.lastIndexOf('/'))}`;
    rmSync(month, { recursive: true });
    writeFileSync(month, 'not a folder');
    const refused = await erase();
    expect([refused.status, refused.body['error']]).toEqual([502, 'media_store_unreachable']);
    expect((await media.running.ask('GET', `/v1/messages/${id}`)).status).toBe(200);
    rmSync(month);
    expect((await erase()).body).toEqual({ messages: 1, sends: 0 });
  });
});

describe('the file of a message, with processes or times of its own,', () => {
  withOwnWorld();

  it('waits since a poll has renewed its address, not since the message', async () => {
    const id = await receiveGone();
    await media.world.clock.skip(HOUR_MS);
    media.file = { status: 503, body: 'x' };
    await list(id, addressOf('2'));
    const oldestAt = media.world.clock.now();
    await media.world.clock.skip(1_000);
    await media.receive();
    expect(await readWaitingFiles(media.world.database)).toEqual({ waiting: 2, oldestAt });
  });

  it('is never fetched by the receiver, which does not decide whether files are kept', async () => {
    await media.running.stop();
    await media.start({ role: 'web', mediaStore: undefined });
    const id = await media.receiveAndCopy();
    await media.pass(HOUR_MS);
    expect(media.fetches).toBe(0);
    await media.running.stop();
    await media.start();
    await media.settle();
    expect(await media.copyOf(id)).toMatchObject(STORED);
  });

  it('is not kept while no store is set, and kept on request later', async () => {
    await media.running.stop();
    await media.start({ mediaStore: undefined });
    const id = await media.receiveAndCopy();
    expect([await media.copyOf(id), media.fetches]).toEqual([null, 0]);
    const refused = await media.running.ask('POST', `/v1/messages/${id}/media`);
    expect([refused.status, refused.body['error']]).toEqual([409, 'media_store_off']);
    await media.running.stop();
    await media.start();
    await media.settle();
    expect(await media.copyOf(id)).toBeNull();
    const asked = await media.running.ask('POST', `/v1/messages/${id}/media`);
    expect([asked.status, asked.body['mediaCopy']]).toMatchObject([200, { state: 'pending' }]);
    await media.settle();
    expect(await media.copyOf(id)).toMatchObject(STORED);
  });

  it('stays gone while no store is set, although a poll renews its address', async () => {
    const id = await receiveGone();
    await media.running.stop();
    await media.start({ mediaStore: undefined });
    await list(id, addressOf('2'));
    expect((await media.copyOf(id))?.state).toBe('gone');
  });

  it('of a person is not erased by a process that has no store, while files are kept', async () => {
    await media.receive();
    await media.settle();
    await media.running.stop();
    await media.start({ mediaStore: undefined });
    const refused = await media.running.ask('DELETE', `/v1/people/${PERSON}`);
    expect([refused.status, refused.body['error']]).toEqual([409, 'media_store_off']);
  });
});
