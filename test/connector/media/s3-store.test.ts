import { createHash } from 'node:crypto';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ObjectRefused, StoreFailure } from '../../../src/connector/media/media-store.ts';
import { createS3Store, type S3Settings } from '../../../src/connector/media/s3-store.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { ConfigurationError } from '../../../src/runtime/config/configuration-error.ts';
import { listen } from '../../support/listen.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MediaWorld, PERSON } from './media-world.ts';

let server: FauxqsServer;
let settings: S3Settings;
beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  server.createBucket('crm-files');
  settings = {
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    bucket: 'crm-files',
    prefix: 'crm/',
    accessKeyId: 'test',
    secretAccessKey: 'test',
    pathStyle: true,
  };
});
afterAll(() => server.stop());

const KEY = 'default/c1/2026/01/m1-277089d9';
const HEAD = { contentType: 'image/png', disposition: 'attachment; filename="message-m1.png"' };
const never = new AbortController().signal;

/** A whole file of these bytes. */
const fileOf = (bytes: Uint8Array) => ({
  pieces: [bytes.subarray(0, 2), bytes.subarray(2)],
  size: bytes.byteLength,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  contentType: 'image/png',
});

async function linkTo(store: ReturnType<typeof createS3Store>, key = KEY): Promise<string> {
  const readable = await store.read(key, HEAD);
  if (readable === null || !('url' in readable)) throw new Error('the bucket gave no link');
  return readable.url;
}

it('an object is put, read through a signed link, and removed', async () => {
  const store = createS3Store(settings, systemClock);
  await store.put(KEY, fileOf(Buffer.from('bytes')), never);
  expect(await store.sizeOf(KEY)).toBe(5);
  const url = await linkTo(store);
  expect(new URL(url).pathname).toBe(`/crm-files/crm/${KEY}`);
  const asked = new URL(url).searchParams;
  expect(asked.get('X-Amz-Expires')).toBe('300');
  expect(asked.get('response-content-disposition')).toBe('attachment; filename="message-m1.png"');
  expect(url).toContain('&response-content-disposition=attachment%3B%20filename%3D%22message-m1.png%22&');
  const answer = await fetch(url);
  expect([answer.status, await answer.text()]).toEqual([200, 'bytes']);
  expect(answer.headers.get('content-type')).toBe('image/png');
  await store.remove(KEY);
  expect(await store.sizeOf(KEY)).toBeNull();
  expect((await fetch(await linkTo(store))).status).toBe(404);
  // Nothing is left to remove.
  await store.remove(KEY);
});

it('an object of 16 MB is sent as one, with its digest', async () => {
  const hash = createHash('sha256');
  let sent: unknown;
  const recording = await listen((request, response) => {
    const { 'content-length': length, 'x-amz-content-sha256': sha256 } = request.headers;
    request
      .on('data', (piece: Buffer) => hash.update(piece))
      .on('end', () => {
        sent = { method: request.method, length, matches: hash.digest('hex') === sha256 };
        response.setHeader('etag', '"1"').end();
      });
  });
  const store = createS3Store({ ...settings, endpoint: recording.url }, systemClock);
  await store.put(KEY, fileOf(Buffer.alloc(16 * 1024 * 1024, 'x')), never);
  expect(sent).toEqual({ method: 'PUT', length: '16777216', matches: true });
  await recording.drain(0);
});

it('tries what it needs: to put, read and remove', async () => {
  await createS3Store(settings, systemClock).check();
  const bucket = createS3Store({ ...settings, bucket: 'another-bucket' }, systemClock);
  await expect(bucket.check()).rejects.toThrow(
    /MEDIA_BUCKET: names a bucket that does not exist at MEDIA_ENDPOINT; create it \(404 NoSuchBucket\)\./,
  );
});

it.each([
  [403, 'InvalidAccessKeyId', 'MEDIA_ACCESS_KEY_ID'],
  [403, 'SignatureDoesNotMatch', 'MEDIA_SECRET_ACCESS_KEY'],
  [403, 'AccessDenied', 'MEDIA_ACCESS_KEY_ID'],
  [301, 'PermanentRedirect', 'MEDIA_REGION'],
  [301, 'Moved', 'MEDIA_REGION'],
  [307, 'TemporaryRedirect', 'MEDIA_REGION'],
  [400, 'AuthorizationHeaderMalformed', 'MEDIA_REGION'],
  [405, 'MethodNotAllowed', 'MEDIA_ENDPOINT'],
])('a refusal with %i %s names %s', async (status, code, setting) => {
  const refusing = await listen(({ url }, response) => {
    if (url === '/elsewhere') response.writeHead(200, { etag: '"1"' }).end();
    else response.writeHead(status, { location: '/elsewhere' }).end(`<Error><Code>${code}</Code></Error>`);
  });
  try {
    const store = createS3Store({ ...settings, endpoint: refusing.url }, systemClock);
    const error = await store.check().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).problems.map((problem) => problem.setting)).toEqual([setting]);
    expect((error as ConfigurationError).message).toContain(`(${status} ${code})`);
  } finally {
    await refusing.drain(0);
  }
});

it.each([503, 429, 200])('a server that answers %i, or is away, refuses no setting', async (status) => {
  const failing = await listen((_request, response) => response.writeHead(status).end());
  const store = createS3Store({ ...settings, endpoint: failing.url }, systemClock);
  await expect(store.check()).rejects.toMatchObject({ name: 'StoreFailure', status });
  await failing.drain(0);
  await expect(store.check()).rejects.toMatchObject({
    name: 'StoreFailure',
    message: 'the bucket of files could not be reached',
  });
});

it('a server that does not answer is waited for one minute', async () => {
  const asked = Promise.withResolvers<void>();
  const silent = await listen(() => asked.resolve());
  const clock = new ManualClock();
  const size = createS3Store({ ...settings, endpoint: silent.url }, clock).sizeOf(KEY);
  const failed = expect(size).rejects.toThrow('the bucket of files could not be reached');
  await asked.promise;
  await clock.advance(60_000);
  await failed;
  await silent.drain(0);
});

it('the bucket is in the host of the address if the settings say so', async () => {
  const store = createS3Store({ ...settings, endpoint: 'https://s3.example', pathStyle: false }, systemClock);
  expect(await linkTo(store)).toMatch(`https://crm-files.s3.example/crm/${KEY}?`);
});

// As S3 answers keys that may not list the objects of the bucket.
it('an object that a bucket denies to the key, as it may not list objects, is not there', async () => {
  const objects = new Set<string>();
  const denying = await listen((request, response) => {
    const { method, url = '' } = request;
    if (method === 'PUT') objects.add(url);
    const status = method === 'HEAD' && !objects.has(url) ? 403 : 200;
    request.resume().on('end', () => response.writeHead(status, { etag: '"1"', 'content-length': 0 }).end());
    if (method === 'DELETE') objects.delete(url);
  });
  const store = createS3Store({ ...settings, endpoint: denying.url }, systemClock);
  await Promise.all([
    store.check(),
    createS3Store({ ...settings, endpoint: denying.url }, systemClock).check(),
  ]);
  expect(await store.sizeOf(KEY)).toBeNull();
  expect(objects).toEqual(new Set());
  await denying.drain(0);
});

it('a connector keeps files in the bucket, sends readers there, and removes them with the person', async () => {
  const media = await MediaWorld.open({ mediaStore: { kind: 's3', ...settings } });
  try {
    const id = await media.receiveAndCopy();
    const copy = await media.copyOf(id);
    expect(copy).toMatchObject({ state: 'stored', size: 5 });
    const answer = await media.download(id);
    expect([answer.status, await answer.text()]).toEqual([302, '']);
    const link = answer.headers.get('location') ?? '';
    expect(await (await fetch(link)).text()).toBe('bytes');
    const head = await media.download(id, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '5']);
    // Clients follow it.
    expect(await (await media.download(id, { redirect: 'follow' })).text()).toBe('bytes');
    expect((await media.running.ask('DELETE', `/v1/people/${PERSON}`)).status).toBe(200);
    expect((await fetch(link)).status).toBe(404);
  } finally {
    await media.close();
  }
});

it.each([
  ['PUT', 200, ''],
  ['PUT', 200, '<html>'],
  ['PUT', 204, ''],
  ['DELETE', 200, '<html>'],
  ['DELETE', 404, '<html>'],
  ['DELETE', 404, ''],
] as const)(
  'a proxy that answers a %s with %i and %j says nothing about an object',
  async (method, status, body) => {
    const proxy = await listen((request, response) =>
      request.resume().on('end', () => response.writeHead(status).end(body)),
    );
    const store = createS3Store({ ...settings, endpoint: proxy.url }, systemClock);
    const asked = method === 'PUT' ? store.put(KEY, fileOf(Buffer.from('bytes')), never) : store.remove(KEY);
    await expect(asked).rejects.toMatchObject({ name: 'StoreFailure', status });
    await proxy.drain(0);
  },
);

// Files wait for a bucket that fails; a refused object uses up an attempt.
it.each([
  ['refuses an object, and takes others', 'm1-', 400, 'EntityTooLarge', true],
  ['refuses an object without a code, and takes others', 'm1-', 413, '', true],
  ['refuses each object', '', 400, 'EntityTooLarge', false],
  ['refuses an object because of rights', 'm1-', 403, 'AccessDenied', false],
  ['does not exist', 'm1-', 404, 'NoSuchBucket', false],
])('a bucket that %s', async (_what, part, status, code, isOfTheObject) => {
  const bucket = await listen((request, response) => {
    const isRefused = request.method === 'PUT' && request.url?.includes(part) === true;
    const body = code === '' ? '' : `<Error><Code>${code}</Code></Error>`;
    request
      .resume()
      .on('end', () =>
        response.writeHead(isRefused ? status : 200, { etag: '"1"' }).end(isRefused ? body : ''),
      );
  });
  const store = createS3Store({ ...settings, endpoint: bucket.url }, systemClock);
  const error = await store.put(KEY, fileOf(Buffer.from('bytes')), never).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreFailure);
  expect((error as StoreFailure).message).toBe(`the bucket of files answered ${status} ${code}`.trim());
  expect(error instanceof ObjectRefused).toBe(isOfTheObject);
  await bucket.drain(0);
});
