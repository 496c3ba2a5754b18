import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createOwnFileFetch } from '../../../src/connector/outbox/fetch-own-file.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const clock = new ManualClock();
const accounts = [{ baseUrl: 'https://service.example/api/v1' }];
const database: Queryable = { query: async <Row extends object>() => accounts as unknown as Row[] };
const fetchFile = createOwnFileFetch({ database, clock });
const never = new AbortController().signal;

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  nock.cleanAll();
  expect(clock.pending).toBe(0);
});
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

describe('a file of a message', () => {
  it('is read from the service itself, without a credential', async () => {
    nock('https://service.example', { badheaders: ['authorization'] })
      .get('/media/1')
      .reply(200, 'bytes');
    expect(Buffer.from(await fetchFile('https://service.example/media/1', never)).toString()).toBe('bytes');
  });

  it.each([
    'https://elsewhere.example/media/1',
    'http://service.example/media/1',
    'https://service.example:8443/media/1',
    'https://service.example@elsewhere.example/media/1',
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'not an address',
  ])('is not asked for at %s', async (url) => {
    nock(/.*/).get(/.*/).reply(200, 'bytes');
    await expect(fetchFile(url, never)).rejects.toThrow(/not at the service|Invalid URL/);
    expect(nock.pendingMocks()).toHaveLength(1);
  });

  it('is not followed to another address', async () => {
    nock('https://service.example').get('/media/1').reply(302, '', { location: 'http://169.254.169.254/' });
    await expect(fetchFile('https://service.example/media/1', never)).rejects.toThrow();
  });

  it('is not read beyond what a send can hold', async () => {
    nock('https://service.example')
      .get('/media/1')
      .reply(200, Buffer.alloc(13 * 1024 * 1024));
    await expect(fetchFile('https://service.example/media/1', never)).rejects.toThrow('too large');
  });

  it('is waited for a minute', async () => {
    nock('https://service.example')
      .get('/media/1')
      .reply(() => new Promise(() => undefined));
    const failed = expect(fetchFile('https://service.example/media/1', never)).rejects.toThrow();
    await clock.advance(60_000);
    await failed;
  });
});
