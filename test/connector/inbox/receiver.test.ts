import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { unclaimedAccount } from '../../../src/connector/accounts/subscription-secrets.ts';
import type { BatchResult } from '../../../src/connector/db/commit-batch.ts';
import { CHANGE } from '../../../src/connector/db/facts.ts';
import type { ReceiverLimits } from '../../../src/connector/inbox/receiver.ts';
import { createReceiverMetrics } from '../../../src/connector/inbox/receiver-metrics.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { proves } from '../../support/proves.ts';
import { watchPieces } from '../../support/watch-pieces.ts';
import {
  databaseOfFile,
  emptyTables,
  newId,
  readLog,
  readMessages,
  signHeaders,
  T0,
} from '../support/event-fixtures.ts';
import {
  deliver,
  exchange,
  FIRST,
  hangUpAfter,
  type ReceiverFixture,
  rawRequest,
  SECRET,
  signedLines,
  startReceiver,
  statusesOf,
} from '../support/receiver-fixture.ts';

const database = databaseOfFile();
let fixture: ReceiverFixture;

beforeEach(async () => {
  await emptyTables(database);
  fixture = await startReceiver(database);
});
afterEach(() => fixture.close());

const send = (body: Uint8Array | string, options?: Parameters<typeof deliver>[2]) =>
  deliver(fixture.server, body, options);

/** A receiver with other limits, until the test ends. */
async function startWith(limits: Partial<ReceiverLimits>): Promise<ReceiverFixture> {
  const started = await startReceiver(database, { limits });
  onTestFinished(() => started.close());
  return started;
}

function receivedBody(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    event: 'message.received',
    connection_id: newId(),
    message: {
      id: newId(),
      wa_id: null,
      from: '15551234567',
      text: 'Hello',
      media_url: null,
      media_type: null,
      timestamp: T0,
      ...changes,
    },
  });
}

describe('a delivery that is accepted', () => {
  it('is committed before it is answered', async () => {
    const body = receivedBody();
    const answer = await send(body);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ok: true });
    expect(await readMessages(database)).toMatchObject([{ text: 'Hello', direction: 'incoming' }]);
    expect(await readLog(database)).toMatchObject([{ outcome: 'merged', body: Buffer.from(body) }]);
    expect(fixture.committed()).toBe(1);
  });

  it('is answered with 200 if it arrives again', async () => {
    const body = receivedBody();
    const timestamp = Date.now();
    expect((await send(body, { timestamp })).status).toBe(200);
    expect((await send(body, { timestamp })).status).toBe(200);
    expect(await readMessages(database)).toHaveLength(1);
    expect((await readLog(database)).map((row) => row.outcome)).toEqual(['merged', 'unchanged']);
  });

  it('may be of an unknown type, or of a known type that does not fit: it is stored', async () => {
    expect((await send('{"event":"test.unknown"}')).status).toBe(200);
    expect((await send(receivedBody({ id: null }))).status).toBe(200);
    expect(await readLog(database)).toMatchObject([
      { outcome: 'unknown_event', event: 'test.unknown' },
      { outcome: 'invalid', reason: expect.stringContaining('message.id') },
    ]);
    expect(await readMessages(database)).toEqual([]);
  });

  it('may have fields that cannot be read: the raw log and a metric name them', async () => {
    await send(receivedBody({ text: 7, media_type: [] }));
    expect(await readLog(database)).toMatchObject([
      { outcome: 'merged', reason: 'not readable: message.text, message.media_type' },
    ]);
    expect((await fixture.metrics.render()).text).toContain('connector_webhook_unread_total 1');
  });

  it.each([
    ['no content type', {}],
    ['text/plain', { 'content-type': 'text/plain; charset=latin1' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a content type that makes no sense', { 'content-type': ';;;' }],
    [
      'a content encoding that is not true',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ],
  ])('may have %s', async (_, headers) => {
    const body = receivedBody();
    const lines = Object.entries({ ...headers, ...signHeaders(body, SECRET, Date.now()) }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const request = rawRequest(body, [
      ...lines,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]);
    expect(statusesOf(await exchange(fixture.server, [request]))).toEqual([200]);
    expect(await readMessages(database)).toHaveLength(1);
  });

  it('may arrive in chunks, and after 100 Continue', async () => {
    const body = receivedBody();
    const lines = signedLines(body);
    const head = rawRequest('', [
      ...lines,
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      'Connection: close',
    ]);
    const chunks = [...Buffer.from(body)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`);
    expect(statusesOf(await exchange(fixture.server, [head, ...chunks, '0\r\n\r\n']))).toEqual([200]);
    expect(await readMessages(database)).toHaveLength(1);
  });

  it('may be exactly 1 MiB', async () => {
    const body = Buffer.from(receivedBody({ text: '' }));
    const padded = Buffer.concat([body, Buffer.alloc(1024 * 1024 - body.length, ' ')]);
    expect((await send(padded)).status).toBe(200);
    expect((await readLog(database))[0]?.body.equals(padded)).toBe(true);
  });

  it('is stored as raw bytes, and with U+FFFD for what text cannot contain', async () => {
    const body = receivedBody({ text: 'a\0b\ud800' });
    expect((await send(body)).status).toBe(200);
    expect(await readMessages(database)).toMatchObject([{ text: 'a\ufffdb\ufffd' }]);
    expect((await readLog(database))[0]?.body.toString('utf8')).toBe(body);
  });

  it('is reported if it is a connection event, so that a poll may follow', async () => {
    await send(JSON.stringify({ event: 'connection.connected', connection_id: newId() }));
    expect(fixture.polled).toEqual([FIRST.accountId]);
  });

  it('is reported once if it is of a connection whose number is not known', async () => {
    const body = receivedBody();
    await send(body);
    await expect.poll(() => fixture.polled).toEqual([FIRST.accountId]);
    await send(body);
    await send(JSON.stringify({ event: 'connection.connected', connection_id: newId() }));
    await expect.poll(() => fixture.polled).toHaveLength(2);
  });

  it('is reported once in a process if no account claims its connection, however many follow', async () => {
    const nobody = unclaimedAccount('sub-1');
    for (const number of [null, '447700900101']) {
      await database.query('UPDATE connector.connections SET phone_number = $1', [number]);
      const own = await startReceiver(database);
      own.secrets.subscriptions = [{ ...FIRST, accountId: nobody }];
      const body = JSON.stringify({ ...JSON.parse(receivedBody()), connection_id: 'cnobody' });
      await deliver(own.server, body);
      await deliver(own.server, body);
      await deliver(own.server, JSON.stringify({ event: 'connection.connected', connection_id: newId() }));
      await expect.poll(() => own.polled).toHaveLength(2);
      await own.close();
      expect(own.polled).toEqual([nobody, nobody]);
    }
  });
});

describe('the address of a webhook', () => {
  it('selects the first subscription without an id, and any subscription with its id', async () => {
    fixture.secrets.subscriptions.push({
      subscriptionId: 'sub 2',
      accountId: 'account-2',
      secrets: [{ secret: 'other' }],
    });
    expect((await send(receivedBody())).status).toBe(200);
    expect((await send(receivedBody(), { path: '/webhooks/messaging/sub-1' })).status).toBe(200);
    expect(
      (await send(receivedBody(), { path: '/webhooks/messaging/sub%202', secret: 'other' })).status,
    ).toBe(200);
    expect((await send(receivedBody(), { path: '/webhooks/messaging/sub%202' })).status).toBe(401);
    expect((await readMessages(database)).map((row) => row.account_id).sort()).toEqual([
      'account-1',
      'account-1',
      'account-2',
    ]);
  });

  it.each(['/webhooks/messaging/nobody', '/webhooks/messaging/%zz', '/webhooks/messaging/a/b'])(
    'is answered with 404 for %s, before size, signature and content are checked',
    async (path) => {
      const answer = await send('x'.repeat(2 * 1024 * 1024), { path, secret: 'wrong' });
      expect(answer.status).toBe(404);
      expect(answer.body.error).toBe('not_found');
    },
  );

  it('is answered with 404 if there is no subscription at all', async () => {
    fixture.secrets.subscriptions = [];
    expect((await send(receivedBody())).status).toBe(404);
  });

  it('accepts only POST', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await fetch(`${fixture.server.url}/webhooks/messaging`, { method });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
  });

  it('passes on requests to other paths', async () => {
    const answer = await fetch(`${fixture.server.url}/webhooks/messagings`, { method: 'POST' });
    expect(await answer.text()).toBe('passed on');
  });
});

describe('the size of a delivery', () => {
  it('is checked before the signature: one byte over 1 MiB is 413', async () => {
    const answer = await send('x'.repeat(1024 * 1024 + 1), { secret: 'wrong' });
    expect([answer.status, answer.body.error]).toEqual([413, 'payload_too_large']);
    expect(await readLog(database)).toEqual([]);
  });

  it('is refused from the declared length, before a byte of the body arrives', async () => {
    const head = rawRequest('', ['Content-Length: 1048577']);
    const text = await exchange(fixture.server, [head], (so_far) => so_far.includes('payload_too_large'));
    expect(statusesOf(text)).toEqual([413]);
  });

  it('is refused during the transfer if no length was declared', async () => {
    const signed = signedLines('');
    const head = rawRequest('', [...signed, 'Transfer-Encoding: chunked']);
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
    const text = await exchange(fixture.server, [head, ...Array(20).fill(chunk)], (so_far) =>
      so_far.includes('payload_too_large'),
    );
    expect(statusesOf(text)).toEqual([413]);
  });

  it('leaves the connection usable after a refusal', async () => {
    const body = receivedBody();
    const lines = signedLines(body);
    const large = rawRequest(Buffer.alloc(1024 * 1024 + 1), ['Content-Length: 1048577']);
    const next = rawRequest(body, [
      ...lines,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ]);
    expect(statusesOf(await exchange(fixture.server, [large, next]))).toEqual([413, 200]);
  });
});

describe('the signature of a delivery', () => {
  it('is checked before the content', async () => {
    const answer = await send('not json', { secret: 'wrong' });
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_signature']);
    expect((await send('not json')).status).toBe(400);
  });

  it('must not be missing, and the message says which header is', async () => {
    const answer = await fetch(`${fixture.server.url}/webhooks/messaging`, {
      method: 'POST',
      body: receivedBody(),
    });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toEqual({
      error: 'invalid_signature',
      message: 'X-Service-Timestamp and X-Service-Signature are both required.',
    });
  });

  it.each([
    ['six minutes old', -6 * 60_000],
    ['six minutes ahead', 6 * 60_000],
  ])('must not be %s', async (_, offset) => {
    expect((await send(receivedBody(), { timestamp: Date.now() + offset })).status).toBe(401);
    expect((await send(receivedBody(), { timestamp: Date.now() + (offset * 4) / 6 })).status).toBe(200);
  });

  it.each(['X-Service-Timestamp', 'X-Service-Signature'])(
    'must not come with two values of %s',
    async (name) => {
      const body = receivedBody();
      const signed = signHeaders(body, SECRET, Date.now());
      const lines = Object.entries(signed).map(([key, value]) => `${key}: ${value}`);
      const repeated = `${name.toLowerCase()}: ${signed[name]}`;
      const rest = [`Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'];
      const text = await exchange(fixture.server, [rawRequest(body, [...lines, repeated, ...rest])]);
      expect(statusesOf(text)).toEqual([401]);
      expect(text).toContain('must be a single value');
    },
  );

  it('covers every byte: one altered byte is refused', async () => {
    proves('delivery.verify.raw-bytes');
    const body = Buffer.from(receivedBody());
    const headers = signHeaders(body, SECRET, Date.now());
    body[body.length - 10] = 0x78;
    expect((await send(body, { headers })).status).toBe(401);
    expect(await readLog(database)).toEqual([]);
  });

  it('is checked again with newer secrets', async () => {
    fixture.secrets.refreshed = [{ ...FIRST, secrets: [{ secret: 'rotated' }] }];
    expect((await send(receivedBody(), { secret: 'rotated' })).status).toBe(200);
    expect((await send(receivedBody())).status).toBe(401);
    expect(fixture.secrets.refreshes).toBe(2);
  });

  it('is answered 503 by its deadline if it is unknown whether there is a newer secret', async () => {
    const quick = await startWith({ answerMs: 200 });
    const never = Promise.withResolvers<'none'>();
    vi.spyOn(quick.secrets, 'awaitNewer').mockReturnValue(never.promise);
    const answer = await deliver(quick.server, receivedBody(), { secret: 'another' });
    expect([answer.status, answer.body]).toEqual([
      503,
      {
        error: 'unavailable',
        message: 'The valid secret could not be read in time; send the delivery again.',
      },
    ]);
    never.resolve('none');
  });

  it('is answered 503 at once if newer secrets cannot be read', async () => {
    vi.spyOn(fixture.secrets, 'awaitNewer').mockResolvedValue('unknown');
    expect((await send(receivedBody(), { secret: 'another' })).status).toBe(503);
  });

  it('causes no look-up of newer secrets if only the headers are wrong', async () => {
    expect((await send(receivedBody(), { headers: { 'X-Service-Signature': 'sha256=abc' } })).status).toBe(
      401,
    );
    expect((await send(receivedBody(), { timestamp: 1_000_000_000_000 })).status).toBe(401);
    expect(fixture.secrets.refreshes).toBe(0);
  });
});

describe('the body of an unverified request', () => {
  const signed = (timestamp: number | string = Date.now(), digest = 'a'.repeat(64)): string[] => [
    `X-Service-Timestamp: ${timestamp}`,
    `X-Service-Signature: sha256=${digest}`,
  ];

  it.each([
    ['no headers', []],
    ['one header', [`X-Service-Timestamp: ${Date.now()}`]],
    ['a malformed timestamp', signed('17e11')],
    ['a malformed signature', signed(Date.now(), 'abc')],
    ['an old timestamp', signed(Date.now() - 6 * 60_000)],
    ['a timestamp ahead', signed(Date.now() + 6 * 60_000)],
  ])('is not waited for: %s', async (_, lines) => {
    const head = rawRequest('', [...lines, 'Content-Length: 1000000']);
    const text = await exchange(fixture.server, [head], (soFar) => soFar.includes('invalid_signature'));
    expect(statusesOf(text)).toEqual([401]);
  });

  it('is waited for no longer than its deadline, whatever arrives in the meantime', async () => {
    const quick = await startWith({ answerMs: 200 });
    const head = rawRequest('{"event":', [...signed(), 'Content-Length: 1000000']);
    const text = await exchange(quick.server, [head], (soFar) => soFar.includes('request_timeout'));
    expect(statusesOf(text)).toEqual([408]);
  });

  it('is discarded if no memory is left, and a small delivery is accepted', async () => {
    const tight = await startWith({ unverifiedBytes: 1024 * 1024, answerMs: 2_000 });
    const large = rawRequest(Buffer.alloc(900_000, 'x'), [...signed(), 'Content-Length: 1000000']);
    const flood = Array.from({ length: 30 }, () =>
      exchange(tight.server, [large], (soFar) => soFar.includes('"message"')),
    );
    const good = await Promise.all(Array.from({ length: 20 }, () => deliver(tight.server, receivedBody())));
    expect(new Set(good.map(({ status }) => status))).toEqual(new Set([200]));
    const texts = (await Promise.all(flood)).filter((text) => statusesOf(text)[0] === 503);
    expect(texts.length).toBeGreaterThanOrEqual(28);
    expect(texts[0]).toMatch(/^Retry-After: 1\r$/m);
    expect((await tight.metrics.render()).text).toContain('reason="crowded_out"');
  });

  it.each([
    ['forged', 0, { answerMs: 60_000 }, 401],
    ['unfinished', 1, { answerMs: 300 }, 408],
    ['crowded out', 1, { answerMs: 60_000, unverifiedBytes: 500_000 }, 503],
  ])('cannot be used to occupy memory: %s', async (_, missing, limits, status) => {
    const held = await startWith(limits);
    const body = Buffer.alloc(900_000 - missing, 'x');
    const forged = rawRequest(body, [...signed(), 'Content-Length: 900000']);
    const pieces = watchPieces();
    const bodies = vi.spyOn(Buffer, 'concat');
    onTestFinished(() => bodies.mockRestore());
    const text = await exchange(held.server, [forged], (soFar) => soFar.includes('"message"'));
    expect(statusesOf(text)).toEqual([status]);
    expect(pieces).not.toEqual([]);
    expect(pieces.filter(({ piece }) => piece.length > 0)).toEqual([]);
    expect(bodies.mock.results.map(({ value }) => value.length)).toEqual(missing === 0 ? [0] : []);
  });

  it('gives its memory back with the answer', async () => {
    const tight = await startWith({ unverifiedBytes: 1024 * 1024 });
    const forged = rawRequest(Buffer.alloc(900_000, 'x'), [...signed(), 'Content-Length: 900000']);
    for (let times = 0; times < 3; times += 1) {
      const text = await exchange(tight.server, [forged], (soFar) => soFar.includes('"message"'));
      expect(statusesOf(text)).toEqual([401]);
    }
  });

  it('in small chunks counts with the memory that the chunks occupy', async () => {
    const tight = await startWith({ unverifiedBytes: 1024 * 1024 });
    const head = rawRequest('', [...signed(), 'Transfer-Encoding: chunked']);
    const pieces = Buffer.from(`10\r\n${'x'.repeat(16)}\r\n`.repeat(20_000));
    const text = await exchange(tight.server, [head, pieces], (soFar) => soFar.includes('"message"'));
    expect(statusesOf(text)).toEqual([503]);
  });

  it('in chunks of one byte is refused, and its connection is closed', async () => {
    const head = rawRequest('', [...signed(), 'Transfer-Encoding: chunked']);
    const text = await exchange(fixture.server, [head, Buffer.from('1\r\nx\r\n'.repeat(100_000))]);
    expect(statusesOf(text)).toEqual([400]);
    await expect
      .poll(async () => (await fixture.metrics.render()).text)
      .toContain('connector_webhook_refused_total{reason="aborted"} 1');
  });
});

describe('a secret that was replaced', () => {
  const before = T0 + 1_000;
  const clock = new ManualClock(T0);
  let held: ReceiverFixture;

  beforeEach(async () => {
    held = await startReceiver(database, { clock });
    const old = { secret: 'old', maxTimestamp: before, acceptUntil: T0 + 35_000 };
    held.secrets.subscriptions = [{ ...FIRST, secrets: [{ secret: 'new' }, old] }];
  });
  afterEach(() => held.close());

  it('is good for what was signed before the replacement, and for a grace period', async () => {
    const old = (timestamp: number) => deliver(held.server, receivedBody(), { secret: 'old', timestamp });
    expect((await old(before)).status).toBe(200);
    expect((await old(before + 1)).status).toBe(401);
    expect(
      (await deliver(held.server, receivedBody(), { secret: 'new', timestamp: before + 1 })).status,
    ).toBe(200);
    await clock.advance(35_000);
    expect((await old(before)).status).toBe(200);
    await clock.advance(1);
    expect((await old(before)).status).toBe(401);
  });

  it('is in doubt from the call on, and deliveries signed with it then wait for the outcome', async () => {
    const { secrets } = held;
    const acceptUntil = clock.now() + 1_000;
    const doubtful = [{ ...FIRST, secrets: [{ secret: 'old', doubtfulAfter: before }] }];
    const outcome = (maxTimestamp: number) => [
      { ...FIRST, secrets: [{ secret: 'new' }, { secret: 'old', maxTimestamp, acceptUntil }] },
    ];
    const old = async (timestamp: number, refreshed?: typeof secrets.refreshed) => {
      secrets.subscriptions = doubtful;
      secrets.refreshed = refreshed;
      return (await deliver(held.server, receivedBody(), { secret: 'old', timestamp })).status;
    };
    expect(await old(before)).toBe(200);
    expect(secrets.refreshes).toBe(0);
    expect(await old(before + 1)).toBe(401);
    expect(await old(before + 1, outcome(before + 1))).toBe(200);
    expect(await old(before + 1, outcome(before))).toBe(401);
    expect(secrets.refreshes).toBe(3);
  });
});

describe('a sender that disconnects', () => {
  it('leaves nothing behind if its body is incomplete', async () => {
    const body = receivedBody();
    const lines = signedLines(body);
    const cut = rawRequest(body.slice(0, 40), [...lines, `Content-Length: ${Buffer.byteLength(body)}`]);
    await hangUpAfter(fixture.server, cut);
    await fixture.receiver.settle();
    expect((await send(receivedBody())).status).toBe(200);
    expect(await readMessages(database)).toHaveLength(1);
  });
});

describe('the metrics of the receiver', () => {
  it('count each conflict of a batch', async () => {
    const metrics = createMetrics();
    const result = { outcomes: {}, masks: [[CHANGE.conflict, 2]] } as unknown as BatchResult;
    createReceiverMetrics(metrics, () => 0).committed(result, []);
    expect((await metrics.render()).text).toContain('connector_webhook_status_conflicts_total 2');
  });

  it('count outcomes, refusals by reason, batches, and the age of signatures', async () => {
    const ofStatus = (status: string): string =>
      JSON.stringify({ event: 'message.status', connection_id: 'c1', message: { id: 'm1', status } });
    for (const body of [receivedBody(), '{"event":"x"}', ofStatus('read'), ofStatus('failed'), 'nonsense'])
      await send(body);
    await send(receivedBody(), { secret: 'wrong' });
    const { text } = await fixture.metrics.render();
    for (const line of [
      'connector_webhook_deliveries_total{outcome="merged"} 2',
      'connector_webhook_deliveries_total{outcome="unknown_event"} 1',
      'connector_webhook_refused_total{reason="not_an_event"} 1',
      'connector_webhook_refused_total{reason="wrong_signature"} 1',
      'connector_webhook_status_conflicts_total 1',
      'connector_webhook_batch_size_count 4',
      'connector_webhook_commit_seconds_count 4',
      'connector_webhook_answer_seconds_count 4',
      'connector_webhook_clock_skew_seconds_count 5',
      'connector_webhook_waiting 0',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('are in seconds', async () => {
    const metrics = createMetrics();
    const { signedAgo, answeredIn } = createReceiverMetrics(metrics, () => 0);
    signedAgo(-2_000);
    answeredIn(250);
    expect(await metrics.read('connector_webhook_clock_skew_seconds_sum')).toMatchObject([{ value: -2 }]);
    expect(await metrics.read('connector_webhook_answer_seconds_sum')).toMatchObject([{ value: 0.25 }]);
  });
});

describe('a receiver that closes', () => {
  it('answers accepted deliveries, and 503 from then on', async () => {
    const open = Array.from({ length: 20 }, () => send(receivedBody()));
    await Promise.all(open.slice(0, 1));
    await fixture.receiver.close();
    const late = await send(receivedBody());
    expect([late.status, late.headers.get('retry-after'), late.body.error]).toEqual([
      503,
      '1',
      'unavailable',
    ]);
    const taken = (await Promise.all(open)).filter((answer) => answer.status === 200).length;
    expect(await readMessages(database)).toHaveLength(taken);
  });
});
