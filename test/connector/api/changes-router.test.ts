import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import express from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerError } from '../../../src/connector/api/api-error.ts';
import { routeOperations } from '../../../src/connector/api/api-router.ts';
import { type ChangesRouter, createChangesRouter } from '../../../src/connector/api/changes-router.ts';
import { createAudit } from '../../../src/connector/audit/audit.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import { createFeed, type Feed } from '../../../src/connector/feed/feed.ts';
import { type Change, changeList } from '../../../src/contract/connector/changes.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type HttpServer, startHttpServer } from '../../../src/runtime/http-server/http-server.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { databaseOfFile, emptyTables, polled, silentLogger, T0 } from '../support/event-fixtures.ts';

const database = databaseOfFile();
let clock: ManualClock;
let feed: Feed;
let changes: ChangesRouter;
let server: HttpServer;

beforeEach(async () => {
  await emptyTables(database);
  clock = new ManualClock();
  feed = createFeed({ database, clock, logger: silentLogger });
  const passOn = (_request: unknown, _response: unknown, next: () => void) => next();
  changes = createChangesRouter({ feed, clock, allow: () => passOn });
  const app = express();
  app.use(changes.router);
  const { listChanges } = changes;
  const guard = { authenticate: passOn, allow: () => passOn };
  app.use(
    routeOperations({ listChanges }, { clock, guard, audit: createAudit({ logger: silentLogger, clock }) }),
  );
  app.use(answerError(silentLogger));
  server = await startHttpServer({
    app,
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
    clock: systemClock,
    onDrain: changes.endStreams,
  });
});
afterEach(async () => {
  await server.drain();
  await feed.close();
});

async function write(...ids: string[]): Promise<void> {
  await commitBatch(database, { now: T0, messages: ids.map((id) => polled('connection', id)) });
  await feed.settle();
}

interface Answer {
  readonly status: number;
  readonly body: {
    readonly feedId?: string;
    readonly changes?: Change[];
    readonly error?: string;
    readonly message?: string;
  };
}

const get = async (path: string): Promise<Answer> => {
  const answer = await fetch(`${server.url}${path}`);
  return { status: answer.status, body: JSON.parse(await answer.text()) };
};

/** An open stream: `read` resolves with the text up to and including the next blank line. */
async function openStream(path: string, headers: Record<string, string> = {}) {
  const outgoing = request(`${server.url}${path}`, { headers });
  outgoing.end();
  const [response]: [IncomingMessage] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  let buffered = '';
  let ended = false;
  const more = new EventTarget();
  response.on('data', (chunk: string) => {
    buffered += chunk;
    more.dispatchEvent(new Event('more'));
  });
  response.on('close', () => {
    ended = true;
    more.dispatchEvent(new Event('more'));
  });
  const read = async (): Promise<string | undefined> => {
    while (!buffered.includes('\n\n')) {
      if (ended) return undefined;
      await new Promise((resolve) => more.addEventListener('more', resolve, { once: true }));
    }
    const end = buffered.indexOf('\n\n') + 2;
    const text = buffered.slice(0, end);
    buffered = buffered.slice(end);
    return text;
  };
  return { response, read, abort: () => outgoing.destroy() };
}

function parseEvent(text: string | undefined): { id: string; change: Change } {
  const [, id = '', data = 'null'] = /^id: (\d+)\ndata: (.*)\n\n$/s.exec(text ?? '') ?? [];
  return { id, change: JSON.parse(data) };
}

describe('GET /v1/changes', () => {
  it('lists changes in order, with the position from which to continue', async () => {
    await write('a', 'b', 'c');
    const first = await get('/v1/changes?limit=3');
    expect(changeList.parse(first.body)).toEqual(first.body);
    expect(first.body).toMatchObject({ nextCursor: '3', hasMore: true });
    const second = await get('/v1/changes?limit=3&after=3');
    expect(second.body).toMatchObject({ changes: [{ seq: 4 }], nextCursor: '4', hasMore: false });
    const none = await get('/v1/changes?after=4');
    expect(none.body).toEqual({
      changes: [],
      nextCursor: '4',
      hasMore: false,
      feedId: expect.any(String),
      lastSeq: 4,
    });
  });

  it('returns the end of the feed for `latest`', async () => {
    await write('a');
    expect(await get('/v1/changes?after=latest')).toEqual({
      status: 200,
      body: { changes: [], nextCursor: '2', hasMore: false, feedId: expect.any(String), lastSeq: 2 },
    });
  });

  it('moves a reader on whose filter nothing passes, so that it never falls behind what is kept', async () => {
    await write('a');
    expect((await get('/v1/changes?connectionId=another')).body).toMatchObject({
      changes: [],
      nextCursor: '2',
      hasMore: false,
    });
    expect((await get('/v1/changes?connectionId=connection')).body.changes).toHaveLength(2);
  });

  it.each([
    ['after=-1', 'after'],
    ['after=x', 'after'],
    ['after=1&after=2', 'after'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=1e2', 'limit'],
    ['connectionId=', 'connectionId'],
    ['connectionId=%00', 'connectionId'],
    ['accountId=a%00', 'accountId'],
    ['unknown=1', 'unknown'],
  ])('refuses ?%s and names the parameter', async (query, field) => {
    const { status, body } = await get(`/v1/changes?${query}`);
    expect(status).toBe(400);
    expect(body.error).toBe('invalid_request');
    expect(body.message).toMatch(new RegExp(`^${field}: [a-z]`));
  });
});

describe('a position after which changes were deleted', () => {
  const DAY = 86_400_000;
  /** Five changes, of which the first three are deleted: a connection with two messages, then one message each. */
  beforeEach(async () => {
    await write('m1', 'm2');
    for (const [days, id] of [
      [1, 'm3'],
      [2, 'm4'],
    ] as const) {
      await commitBatch(database, { now: T0 + days * DAY, messages: [polled('connection', id)] });
      await feed.settle();
    }
    const stopping = new AbortController().signal;
    expect(await deleteOldChanges(database, { before: T0 + DAY, needed: async () => null, stopping })).toBe(
      3,
    );
  });

  it.each([
    ['a page', '/v1/changes?after=2', {}],
    ['a filtered page', '/v1/changes?after=2&connectionId=c1', {}],
    ['a stream', '/v1/changes/stream?after=1', {}],
    ['a resumed stream', '/v1/changes/stream', { 'last-event-id': '2' }],
  ])('is answered with 410 and the first number that is kept: %s', async (_what, path, headers) => {
    const answer = await fetch(`${server.url}${path}`, { headers });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 410,
      body: {
        error: 'changes_deleted',
        message: expect.stringContaining('continue with `after=3`'),
        feedId: expect.stringMatching(/^[0-9a-f]{12}$/),
        firstSeq: 4,
        lastSeq: 5,
      },
    });
  });

  it.each(['/v1/changes?after=3', '/v1/changes?after=0', '/v1/changes'])(
    'is not that of a reader who begins, or has read all that were deleted: %s',
    async (path) => {
      const { status, body } = await get(path);
      expect({ status, seqs: body.changes?.map(({ seq }) => seq) }).toEqual({ status: 200, seqs: [4, 5] });
    },
  );

  it('is not that of a stream from the start, which begins with what is kept', async () => {
    const stream = await openStream('/v1/changes/stream');
    expect([await stream.read(), parseEvent(await stream.read()).id]).toEqual([
      'retry: 1000\nid: 3\n\n',
      '4',
    ]);
    stream.abort();
  });

  it('is that of a reader who begins, if changes of its page were deleted while it was read', async () => {
    const page = { changes: [{ seq: 3 } as Change, { seq: 5 } as Change], next: 5, hasMore: false };
    vi.spyOn(feed, 'pageAfter').mockResolvedValue(page);
    expect(await get('/v1/changes?connectionId=connection')).toMatchObject({
      status: 410,
      body: { message: expect.stringContaining('continue with `after=3`') },
    });
  });

  it('ends the stream of a reader who was too slow, so that it learns of it when it resumes', async () => {
    // More than a socket holds, so that the reader is still reading when the rest is deleted.
    const many = Array.from({ length: 3_000 }, (_, index) => `slow${index}`);
    await commitBatch(database, {
      now: T0 + 3 * DAY,
      messages: many.map((id) => ({ ...polled('connection', id), text: 'x'.repeat(4_000) })),
    });
    await write('last');
    const outgoing = request(`${server.url}/v1/changes/stream?after=3`);
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const stopping = new AbortController().signal;
    await deleteOldChanges(database, { before: Number.MAX_SAFE_INTEGER, needed: async () => null, stopping });
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      expect(text, 'it went on behind what was deleted').not.toContain('"messageId":"last"');
    }
    const last = Number([...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 3);
    expect(last).toBeLessThan(3_000);
    expect(await get(`/v1/changes?after=${last}`)).toMatchObject({ status: 410 });
  });
});

describe('a position beyond the end of the feed', () => {
  it.each([
    ['a page', '/v1/changes?after=4', {}],
    ['a far page', '/v1/changes?after=999999999', {}],
    ['a filtered page', '/v1/changes?after=4&connectionId=c1', {}],
    ['a stream', '/v1/changes/stream?after=4', {}],
    ['a resumed stream', '/v1/changes/stream', { 'last-event-id': '4' }],
  ])('is refused, and the answer contains the end of the feed: %s', async (_what, path, headers) => {
    await write('m1', 'm2');
    const feedId = (await get('/v1/changes')).body.feedId;
    expect(feedId).toMatch(/^[0-9a-f]{12}$/);
    const answer = await fetch(`${server.url}${path}`, { headers });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 409,
      body: { error: 'beyond_feed', message: expect.stringContaining('ends at 3'), feedId, lastSeq: 3 },
    });
  });

  it.each([
    ['a page', '/v1/changes?after=5', {}],
    ['a stream', '/v1/changes/stream?after=5', {}],
    ['a resumed stream', '/v1/changes/stream', { 'last-event-id': '5' }],
  ])(
    'is accepted after a failover that lost it, before anything is numbered: %s',
    async (_what, path, headers) => {
      await write('m1', 'm2');
      await database.query(`UPDATE connector.feed SET cluster = '7300000000000000001/16384/1'`);
      const answer = await fetch(`${server.url}${path}`, { headers });
      expect(answer.status).toBe(200);
      await answer.body?.cancel();
    },
  );

  it('begins after the end itself', async () => {
    await write('m1', 'm2');
    expect(await get('/v1/changes?after=3')).toMatchObject({
      status: 200,
      body: { changes: [], lastSeq: 3 },
    });
    const stream = await fetch(`${server.url}/v1/changes/stream?after=3`);
    expect(stream.status).toBe(200);
    expect(stream.headers.get('feed-id')).toBe((await get('/v1/changes')).body.feedId);
    await stream.body?.cancel();
  });
});

describe('GET /v1/changes/stream', () => {
  it('streams existing changes and then new ones, each with its seq as its id', async () => {
    await write('a');
    const stream = await openStream('/v1/changes/stream');
    expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(await stream.read()).toBe('retry: 1000\nid: 0\n\n');
    expect(parseEvent(await stream.read())).toMatchObject({
      id: '1',
      change: { type: 'connection.updated' },
    });
    expect(parseEvent(await stream.read())).toMatchObject({ id: '2', change: { seq: 2, messageId: 'a' } });
    await write('b');
    expect(parseEvent(await stream.read())).toMatchObject({ id: '3', change: { seq: 3, messageId: 'b' } });
    stream.abort();
  });

  it('is open at most 200 times; a closed stream or a HEAD request does not count', async () => {
    for (let count = 0; count < 3; count += 1) {
      const head = request(`${server.url}/v1/changes/stream`, { method: 'HEAD', agent: false }).end();
      const [answer]: [IncomingMessage] = (await once(head, 'response')) as [IncomingMessage];
      expect(answer.statusCode).toBe(200);
    }
    const streams = await Promise.all(Array.from({ length: 200 }, () => openStream('/v1/changes/stream')));
    expect(new Set(streams.map(({ response }) => response.statusCode))).toEqual(new Set([200]));
    const refused = await fetch(`${server.url}/v1/changes/stream`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.json()).toMatchObject({ error: 'unavailable' });
    streams[0]?.abort();
    await vi.waitUntil(async () => {
      const next = await openStream('/v1/changes/stream');
      if (next.response.statusCode === 200) streams.push(next);
      return next.response.statusCode === 200;
    });
    for (const stream of streams) stream.abort();
  });

  it('resumes after Last-Event-ID, which takes precedence over `after`', async () => {
    await write('a', 'b', 'c');
    const stream = await openStream('/v1/changes/stream?after=0', { 'Last-Event-ID': '3' });
    await stream.read();
    expect(parseEvent(await stream.read()).id).toBe('4');
    stream.abort();
  });

  it('begins with an id, so a reader that received no change resumes where it began, also for `latest`', async () => {
    await write('a', 'b');
    const stream = await openStream('/v1/changes/stream?after=latest');
    const [, id = ''] = /^id: (.*)$/m.exec((await stream.read()) ?? '') ?? [];
    stream.abort();
    await write('c');
    const resumed = await openStream('/v1/changes/stream?after=latest', { 'Last-Event-ID': id });
    await resumed.read();
    expect(parseEvent(await resumed.read()).id).toBe('4');
    resumed.abort();
  });

  it('refuses a Last-Event-ID that is not a seq, and an invalid query', async () => {
    const bad = await fetch(`${server.url}/v1/changes/stream`, { headers: { 'Last-Event-ID': 'x' } });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({ error: 'invalid_request' });
    expect((await get('/v1/changes/stream?after=1.5')).status).toBe(400);
    expect((await get('/v1/changes/stream?connectionId=%00')).status).toBe(400);
  });

  it('tells a reader whose filter nothing passes how far it has read', async () => {
    const stream = await openStream('/v1/changes/stream?connectionId=another');
    await stream.read();
    await write('a');
    expect(await stream.read()).toBe('id: 2\n\n');
    stream.abort();
  });

  it('can be filtered by account and by connection', async () => {
    await write('a');
    const second = polled('second', 'b', { accountId: 'account-2' });
    await commitBatch(database, { now: T0, messages: [second] });
    await feed.settle();
    for (const filter of ['accountId=account-2', 'connectionId=second']) {
      const stream = await openStream(`/v1/changes/stream?${filter}`);
      await stream.read();
      expect(parseEvent(await stream.read()).id).toBe('3');
      stream.abort();
    }
  });

  it('sends heartbeats while nothing happens', { timeout: 10_000 }, async () => {
    const stream = await openStream('/v1/changes/stream');
    await stream.read();
    await clock.advance(15_000);
    expect(await stream.read()).toBe(':\n\n');
    await clock.advance(15_000);
    expect(await stream.read()).toBe(':\n\n');
    stream.abort();
  });

  it('ends when the server drains, without delaying it', async () => {
    const stream = await openStream('/v1/changes/stream');
    await stream.read();
    await server.drain();
    expect(await stream.read()).toBeUndefined();
  });

  it('disconnects a reader that reads nothing for a minute, and buffers only a few changes for it', async () => {
    const text = 'x'.repeat(50_000);
    const ids = Array.from({ length: 400 }, (_, index) => `m${index}`);
    await commitBatch(database, { now: T0, messages: ids.map((id) => polled('connection', id, { text })) });
    await feed.settle();
    const outgoing = request(`${server.url}/v1/changes/stream`);
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.pause();
    await untilTimers(clock, 2);
    response.on('error', () => undefined);
    const cutOff = new Promise((resolve) => response.on('close', resolve));
    await clock.advance(60_000);
    response.resume();
    await cutOff;
    expect(response.complete).toBe(false);
  });
});

/** Resolves when so many timers are set: the stream waits for its reader. */
async function untilTimers(manual: ManualClock, count: number): Promise<void> {
  while (manual.pending < count) await new Promise((resolve) => setImmediate(resolve));
}
