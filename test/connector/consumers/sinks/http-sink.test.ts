import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { connect as openTcp, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { connect as openTls } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callSink } from '../../../../src/connector/consumers/call-sink.ts';
import { type HttpSinkOptions, openHttpSink } from '../../../../src/connector/consumers/sinks/http-sink.ts';
import type { Sink } from '../../../../src/connector/consumers/sinks/sink.ts';
import {
  consumerBatchRequest,
  consumerRequest,
} from '../../../../src/contract/connector/consumer-requests.ts';
import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import type { Sockets } from '../../../../src/runtime/public-network/connect-public.ts';
import { ofFile } from '../../../support/of-file.ts';
import { serve } from '../../../support/serve.ts';
import { TEST_CERTIFICATE } from '../../../support/tls-certificate.ts';
import { WatchedClock } from '../../../support/watched-clock.ts';
import { callWith, statusChange } from './sink-fixtures.ts';

const NEW_SECRET = 'whsec_bmV3LXNlY3JldC1vZi1hLWNvbnN1bWVyLTAwMDAwMDE=';
const OLD_SECRET = 'whsec_b2xkLXNlY3JldC1vZi1hLWNvbnN1bWVyLTAwMDAwMDE=';
const ANYWHERE = 'https://hooks.example.com/changes?tenant=a%20b';

interface Received {
  readonly headers: Record<string, string>;
  readonly path: string;
  readonly body: Buffer;
}

/** Every request of this file; all of them are verified at the end. */
const all: Received[] = [];
let received: Received[];
let opened: number;
/** The last connection, below TLS. */
let newest: Socket;
let addresses: readonly string[];
let trusted: boolean;
let answer: (response: ServerResponse, request: IncomingMessage) => void;
let clock: WatchedClock;
let sinks: Sink[];

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers, url = '' } = request;
  const one = { headers: headers as Record<string, string>, path: url, body: await buffer(request) };
  received.push(one);
  all.push(one);
  answer(response, request);
}

const server = createServer(TEST_CERTIFICATE, receive).on('connection', (socket: Socket) => {
  newest = socket;
});
const served = ofFile(() => serve(server));
beforeEach(() => {
  received = [];
  opened = 0;
  addresses = ['93.184.216.34'];
  trusted = true;
  answer = (response) => void response.writeHead(204).end();
  clock = new WatchedClock(systemClock.now());
  sinks = [];
});
afterEach(async () => {
  await Promise.all(sinks.map((sink) => sink.close()));
  expect(clock.pending).toBe(0);
});

/** The checked address is on the internet; what is dialled in its place is the server above. */
const sockets: Sockets = {
  tcp: (options) => openTcp(options),
  tls({ servername, ALPNProtocols }) {
    opened += 1;
    const { port } = served;
    const named = servername === undefined ? {} : { servername };
    const ca = trusted ? { ca: TEST_CERTIFICATE.cert } : {};
    return openTls({ host: '127.0.0.1', port, ALPNProtocols, ...named, ...ca });
  },
};

function open(options: Partial<HttpSinkOptions> = {}): Sink {
  const sink = openHttpSink({
    url: ANYWHERE,
    secret: NEW_SECRET,
    batched: false,
    concurrency: 50,
    deadlineMs: 30_000,
    clock,
    namedHosts: { own: 'https://connector.example.com' },
    lookup: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    sockets,
    ...options,
  });
  sinks.push(sink);
  return sink;
}

const errorWith = (message: string | RegExp, code: unknown) =>
  expect.objectContaining({ name: 'EndpointError', message: expect.stringMatching(message), code });
const failedWith = (message: string | RegExp, code: unknown) => ({
  kind: 'failed',
  error: errorWith(message, code),
});
const unavailableWith = (message: string | RegExp, code: unknown) => ({
  ...failedWith(message, code),
  kind: 'unavailable',
});

describe('a request', () => {
  it('contains one change with its key and attempt', async () => {
    expect(await open().call({ ...callWith(7), attempt: 3 })).toEqual({ kind: 'taken' });
    const [request] = received;
    expect(request?.path).toBe('/changes?tenant=a%20b');
    expect(request?.headers).toMatchObject({
      host: 'hooks.example.com',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'webhook-id': '3f9a1c22b04d-7-crm',
    });
    const body = JSON.parse(String(request?.body));
    expect(body).toEqual({ key: '3f9a1c22b04d-7-crm', attempt: 3, change: statusChange(7) });
    expect(consumerRequest.strict().safeParse(body).success).toBe(true);
  });

  it.each([[[4, 5, 9]], [[4]]])('of a consumer with batches contains the list %j in order', async (seqs) => {
    expect(await open({ batched: true }).call(callWith(...seqs))).toEqual({ kind: 'taken' });
    const [request] = received;
    const body = JSON.parse(String(request?.body));
    const changes = seqs.map((seq) => ({ key: `3f9a1c22b04d-${seq}-crm`, change: statusChange(seq) }));
    expect(body).toEqual({ attempt: 1, changes });
    expect(request?.headers['webhook-id']).toBe(`3f9a1c22b04d-${seqs.at(-1)}-crm`);
    expect(consumerBatchRequest.strict().safeParse(body).success).toBe(true);
  });

  it('is signed with both secrets until the previous one ends', async () => {
    const sink = open({ previous: { secret: OLD_SECRET, until: clock.now() + 60_000 } });
    await sink.call(callWith(1));
    clock.jump(59_999);
    await sink.call(callWith(2));
    clock.jump(1);
    await sink.call(callWith(3));
    expect(received.map(({ headers }) => headers['webhook-signature']?.split(' ').length)).toEqual([2, 2, 1]);
    const accepts = (secret: string) =>
      received.map(({ headers, body }) => {
        try {
          return new Webhook(secret).verify(body, headers) !== undefined;
        } catch {
          return false;
        }
      });
    expect(accepts(OLD_SECRET)).toEqual([true, true, false]);
    expect(accepts(NEW_SECRET)).toEqual([true, true, true]);
  });

  it('is signed with the time of the attempt, in seconds', async () => {
    const at = clock.now();
    await open().call(callWith(1));
    expect(received[0]?.headers['webhook-timestamp']).toBe(String(Math.floor(at / 1_000)));
  });

  it('uses an open connection again', async () => {
    const sink = open();
    for (let seq = 1; seq <= 10; seq += 1) await sink.call(callWith(seq));
    expect(received).toHaveLength(10);
    // The second request may begin before the first connection counts as free.
    expect(opened).toBeLessThanOrEqual(2);
  });
});

describe('an answer', () => {
  it.each([200, 201, 202, 204, 299])('%d accepts the change', async (status) => {
    answer = (response) => void response.writeHead(status).end();
    expect(await open().call(callWith(1))).toEqual({ kind: 'taken' });
  });

  it.each([301, 302, 307, 308])('%d is a failure, and nobody else is asked', async (status) => {
    answer = (response) => void response.writeHead(status, { location: '/elsewhere' }).end();
    const end = await open().call(callWith(1));
    expect(end).toEqual(failedWith(`answered ${status}, and redirects are not followed`, `http_${status}`));
    expect(received).toHaveLength(1);
  });

  it.each([400, 401, 404, 409, 500])('%d is a failure without a wait of its own', async (status) => {
    answer = (response) => void response.writeHead(status).end('Traceback: no such table');
    const end = await open().call(callWith(1));
    expect(end).toEqual(failedWith(`answered ${status}: Traceback: no such table`, `http_${status}`));
  });

  it.each([502, 503, 504])('%d is a failure that may be of a gateway', async (status) => {
    answer = (response) => void response.writeHead(status).end('Bad gateway');
    const end = await open().call(callWith(1));
    expect(end).toEqual({
      ...failedWith(`answered ${status}: Bad gateway`, `http_${status}`),
      byGateway: true,
    });
  });

  it.each([
    [500, 'failed'],
    [503, 'unavailable'],
  ])('%d with Retry-After is %s', async (status, kind) => {
    answer = (response) => void response.writeHead(status, { 'retry-after': '20' }).end();
    expect(await open().call(callWith(1))).toMatchObject({ kind, retryAfterMs: 20_000 });
  });

  it('410 disables the consumer', async () => {
    answer = (response) => void response.writeHead(410, { 'retry-after': '5' }).end();
    expect(await open().call(callWith(1))).toEqual({
      kind: 'disabled',
      error: expect.objectContaining({ message: 'the consumer answered 410', code: 'http_410' }),
    });
  });

  it.each([
    ['7', 7_000],
    ['0', 0],
    ['900', 900_000],
    ['999999999', 86_400_000],
    ['99999999999999999999', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['', undefined],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 86_400_000],
    ['2026-01-01T00:00:30Z', undefined],
  ])('429 with Retry-After %j asks all calls to wait for %s ms', async (value, expected) => {
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
    answer = (response) => void response.writeHead(429, { 'retry-after': value, date }).end();
    const end = await open().call(callWith(1));
    expect(end).toMatchObject(unavailableWith('answered 429', 'http_429'));
    expect('retryAfterMs' in end ? end.retryAfterMs : undefined).toBe(expected);
  });

  it.each([
    [200, { kind: 'taken' }],
    [500, failedWith(/^the consumer answered 500: x{600}$/, 'http_500')],
  ])('of 10 MB with status %d is cut off', async (status, expected) => {
    const written = Promise.withResolvers<boolean>();
    answer = (response) => {
      response.on('close', () => written.resolve(response.writableFinished));
      response.writeHead(status).end(Buffer.alloc(10 * 1024 * 1024, 'x'));
    };
    const sink = open();
    expect(await sink.call(callWith(1))).toEqual(expected);
    expect(await written.promise).toBe(false);
    answer = (response) => void response.writeHead(204).end();
    expect(await sink.call(callWith(2))).toEqual({ kind: 'taken' });
    expect(opened).toBe(2);
  });

  it.each([
    ['before', false],
    ['within', true],
  ])('whose connection is reset %s its body is a failure', async (_when, begun) => {
    answer = (response) => {
      if (begun) response.writeHead(200).write('x', () => newest.resetAndDestroy());
      else newest.resetAndDestroy();
    };
    const sink = open();
    expect(await sink.call(callWith(1))).toEqual(failedWith('did not answer: ', expect.any(String)));
    answer = (response) => void response.writeHead(204).end();
    expect(await sink.call(callWith(2))).toEqual({ kind: 'taken' });
  });

  it('with headers that are too long is a failure', async () => {
    answer = (response) => void response.writeHead(200, { filler: 'x'.repeat(20_000) }).end();
    const overflow = failedWith('did not answer: ', 'UND_ERR_HEADERS_OVERFLOW');
    expect(await open().call(callWith(1))).toEqual(overflow);
  });
});

describe('the address of an endpoint', () => {
  it.each([[['10.0.0.7']], [['93.184.216.34', '192.168.0.7']], [[]]])(
    'is not connected to if its name resolves to %j',
    async (found) => {
      addresses = found;
      expect(await open().call(callWith(1))).toEqual(
        unavailableWith('the host resolves to an address that is not public', 'ADDRESS_REFUSED'),
      );
      expect(opened).toBe(0);
    },
  );

  it('may not be a private one', async () => {
    const url = 'https://2130706433/';
    expect(await open({ url }).call(callWith(1))).toEqual(unavailableWith('', 'ADDRESS_REFUSED'));
    expect(opened).toBe(0);
  });

  it('is checked at each connect, so a name that becomes private is not followed', async () => {
    answer = (response) => void response.writeHead(204, { connection: 'close' }).end();
    const sink = open();
    expect(await sink.call(callWith(1))).toEqual({ kind: 'taken' });
    addresses = ['10.0.0.7'];
    expect(await sink.call(callWith(2))).toEqual(unavailableWith('', 'ADDRESS_REFUSED'));
    expect([received.length, opened]).toEqual([1, 1]);
  });

  it('receives nothing if its certificate is not trusted, or names another host', async () => {
    trusted = false;
    expect(await open().call(callWith(1))).toEqual(
      unavailableWith('did not answer: self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'),
    );
    trusted = true;
    expect(await open({ url: 'https://other.example.com/' }).call(callWith(1))).toEqual(
      unavailableWith('did not answer: ', 'ERR_TLS_CERT_ALTNAME_INVALID'),
    );
    expect(received).toEqual([]);
  });

  it('makes the consumer unavailable if nobody listens there', async () => {
    const plain = await serve(createPlainServer());
    await plain.close();
    const namedHosts = { own: 'http://127.0.0.1:4020/webhooks/messaging' };
    expect(await open({ url: `${plain.url}/`, namedHosts }).call(callWith(1))).toEqual(
      unavailableWith('did not answer: connect ECONNREFUSED', 'ECONNREFUSED'),
    );
  });

  it('may be on this machine, without TLS, if the connector is as well', async () => {
    const plain = await serve(createPlainServer(receive));
    const url = `${plain.url}/`;
    expect(await open({ url }).call(callWith(1))).toEqual(
      unavailableWith('the address of the consumer does not start with https://', 'insecure'),
    );
    const namedHosts = { own: 'http://127.0.0.1:4020/webhooks/messaging' };
    expect(await open({ url, namedHosts }).call(callWith(1))).toEqual({ kind: 'taken' });
    await plain.close();
  });
});

describe('a call', () => {
  it.each([0, 6])('whose answer does not end ends at its deadline, after %i drops of it', async (drops) => {
    const asked = Promise.withResolvers<ServerResponse>();
    answer = (response) => asked.resolve(response);
    let ended = false;
    const { stop, ...call } = callWith(1);
    const late = callSink(open(), call, { clock, consumer: 'crm', deadlineMs: 30_000, stop }).finally(() => {
      ended = true;
    });
    const response = await asked.promise;
    const closed = once(response, 'close');
    for (let drop = 0; drop < drops; drop += 1) await new Promise((resolve) => response.write('x', resolve));
    await clock.advance(29_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    const error = expect.objectContaining({ message: 'the consumer crm did not finish within 30 s' });
    expect(await late).toEqual({ kind: 'late', error });
    await closed;
  });

  it('with a short deadline fails to connect before it, so the consumer is away, and the change not late', async () => {
    const dialled = Promise.withResolvers<void>();
    const tls: Sockets['tls'] = () => {
      dialled.resolve();
      return openTcp({ host: 'silent.example', port: 443, lookup: () => undefined });
    };
    const sink = open({ deadlineMs: 5_000, sockets: { ...sockets, tls } });
    const { stop, ...call } = callWith(1);
    const ended = callSink(sink, call, { clock, consumer: 'crm', deadlineMs: 5_000, stop });
    await dialled.promise;
    await clock.advance(5_000);
    expect(await ended).toEqual(unavailableWith('not established in time', 'CONNECT_TIMEOUT'));
  });
});

describe('a call that is aborted', () => {
  it('sends nothing if it has not begun', async () => {
    await open().call({ ...callWith(1), stop: AbortSignal.abort() });
    expect(received).toEqual([]);
  });

  it.each([
    ['before the answer', () => undefined],
    ['within its body', (response: ServerResponse) => response.writeHead(200).write('x')],
    ['within the body of a failure', (response: ServerResponse) => response.writeHead(500).write('x')],
  ])('%s ends at once, with its connection', async (_when, begin) => {
    const asked = Promise.withResolvers<ServerResponse>();
    answer = (response) => {
      begin(response);
      asked.resolve(response);
    };
    const stop = new AbortController();
    const failed = open().call({ ...callWith(1), stop: stop.signal });
    const response = await asked.promise;
    const closed = once(response, 'close');
    stop.abort();
    expect(await failed).toMatchObject({ kind: 'failed' });
    await closed;
  });
});

describe('every request of these tests', () => {
  it('is accepted by the library of Standard Webhooks, and not if it was changed', () => {
    expect(all.length).toBeGreaterThan(50);
    const webhook = new Webhook(NEW_SECRET);
    for (const { headers, body } of all) {
      expect(webhook.verify(body, headers)).toEqual(JSON.parse(body.toString()));
      expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature');
    }
  });
});
