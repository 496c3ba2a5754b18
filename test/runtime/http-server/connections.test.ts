import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { clientAddress } from '../../../src/runtime/http-server/connections.ts';
import type { HttpServer, HttpServerOptions } from '../../../src/runtime/http-server/http-server.ts';
import { listen } from '../../support/listen.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { watchPieces } from '../../support/watch-pieces.ts';
import { connectRaw, postRequest, type RawClient } from './raw-client.ts';

const started: HttpServer[] = [];
const clients: RawClient[] = [];

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await Promise.all(started.splice(0).map((server) => server.drain(0)));
});

/** Answers with the address of the caller. */
const app: RequestListener = (request, response) => {
  request.resume();
  response.end(`from ${clientAddress(request)}`);
};

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await listen(app, options);
  started.push(server);
  return server;
}

async function connectTo(server: HttpServer, from?: string): Promise<RawClient> {
  const client = await connectRaw(server.port, from);
  clients.push(client);
  return client;
}

const get = (path = '/', headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n`;

/** What a client receives next; empty if its connection is closed. */
async function answered(client: RawClient, request: string): Promise<string> {
  const before = client.received().length;
  client.socket.write(request);
  await Promise.race([once(client.socket, 'data'), client.ended]);
  return client.received().slice(before);
}

/** The answer to a new client. */
const answerNew = async (server: HttpServer): Promise<string> => answered(await connectTo(server), get());

describe('a connection', () => {
  it('of a trusted proxy has the address of the client behind it', async () => {
    const server = await start({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    const client = await connectTo(server);
    const forwarded = 'X-Forwarded-For: 1.1.1.1, 203.0.113.7, 10.1.2.3\r\n';
    const answer = await answered(client, get('/', forwarded));
    expect(answer).toContain('from 203.0.113.7');
    const network = 'X-Forwarded-For: 2001:db8:1:2:3:4:5:6\r\n';
    expect(await answered(client, get('/', network))).toContain('from 2001:db8:1:2::/64');
  });

  it('of an untrusted client has its own address, whatever it claims', async () => {
    const server = await start();
    const client = await connectTo(server);
    expect(await answered(client, get('/', 'X-Forwarded-For: 203.0.113.7\r\n'))).toContain('from 127.0.0.1');
  });

  it('delivers an early answer to a client that still writes', async () => {
    const server = await start();
    const client = await connectTo(server);
    client.socket.write(
      'PUT / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 20000000\r\n\r\n',
    );
    const part = Buffer.alloc(100_000);
    for (let sent = 0; sent < 50; sent += 1) client.socket.write(part);
    expect(await client.ended).toBeUndefined();
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*from 127\.0\.0\.1/);
  });

  it('leaves no memory to be collected from what a client writes after an early answer', async () => {
    const server = await start({ app: (_request, response) => response.end('no') });
    const pieces = watchPieces();
    const client = await connectTo(server);
    const length = 3_000_000;
    client.socket.write(`PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: ${length}\r\n\r\n`);
    client.socket.write(Buffer.alloc(length));
    await expect.poll(() => pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(length);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
    expect(pieces.filter(({ piece }) => piece.length > 0)).toEqual([]);
  });
});

describe('requests on one connection', () => {
  it('are answered in order', async () => {
    const waiting: (() => void)[] = [];
    const server = await start({
      app: ({ url }, response) => {
        waiting.unshift(() => response.end(url));
        if (waiting.length === 4) for (const answer of waiting) answer();
      },
    });
    const client = await connectTo(server);
    const paths = ['/1', '/2', '/3', '/4'];
    client.socket.write(
      paths.map((path) => get(path, path === '/4' ? 'Connection: close\r\n' : '')).join(''),
    );
    await client.ended;
    expect(client.received().match(/\/\d$|\/\d(?=HTTP)/g)).toEqual(paths);
  });

  it('may be any number if each waits for the answer to the one before', async () => {
    const client = await connectTo(await start());
    for (let times = 0; times < 20; times += 1) expect(await answered(client, get())).toContain('200 OK');
  });

  it('close it if more than 16 wait for an answer, and the others are not even parsed', async () => {
    const parsed = watchRequests();
    let served = 0;
    const server = await start({
      app: () => {
        served += 1;
      },
    });
    const client = await connectTo(server);
    client.socket.write(get().repeat(1_000));
    await client.ended;
    expect([served, parsed()]).toEqual([16, 17]);
  });
});

describe('a body in chunks of one byte', () => {
  const HEAD = 'POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunks = (count: number): string => '1\r\nx\r\n'.repeat(count);

  it('is parsed up to 273 chunks, and then refused; its connection is closed', async () => {
    const pieces = watchPieces();
    const server = await start({ app: (request) => void request.resume() });
    const client = await connectTo(server);
    client.socket.write(`${HEAD}${chunks(10_000)}`);
    await client.ended;
    expect(pieces).toHaveLength(274);
    expect(client.received()).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('is parsed no further after an early answer, which remains the only one', async () => {
    const pieces = watchPieces();
    const server = await start({ app: (_request, response) => response.writeHead(404).end() });
    const client = await connectTo(server);
    client.socket.write(HEAD);
    await once(client.socket, 'data');
    client.socket.write(chunks(10_000));
    await client.ended;
    expect(pieces).toHaveLength(274);
    expect(client.received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404']);
  });

  it('leaves no trace in the parser that Node gives to the next connection', async () => {
    const server = await start({ app: (request, response) => void request.pipe(response) });
    for (let times = 0; times < 3; times += 1) {
      const hostile = await connectTo(server);
      hostile.socket.write(`${HEAD}${chunks(10_000)}`);
      await hostile.ended;
      const client = await connectTo(server);
      expect(await answered(client, postRequest('good'))).toContain('good');
    }
  });

  it('is accepted if it is short', async () => {
    const server = await start({ app: (request, response) => void request.pipe(response) });
    const client = await connectTo(server);
    client.socket.write(`${HEAD.replace('\r\n', '\r\nConnection: close\r\n')}${chunks(200)}0\r\n\r\n`);
    await client.ended;
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
    expect(client.received().match(/\r\nx(?=\r\n)/g)).toHaveLength(200);
  });
});

describe('beyond the maximum number of connections', () => {
  it('new ones are closed without an answer, and those that are open stay', async () => {
    const server = await start({ limits: { maxConnections: 2 } });
    const first = await connectTo(server);
    const second = await connectTo(server);
    expect(await answerNew(server)).toBe('');
    for (const client of [first, second]) expect(await answered(client, get())).toContain('200 OK');
    second.socket.destroy();
    await expect.poll(() => answerNew(server)).toContain('200 OK');
  });

  it('of one address, other addresses still connect', async () => {
    const server = await start({ limits: { maxPerAddress: 2 } });
    const [first, second] = [await connectTo(server), await connectTo(server)];
    expect(await answerNew(server)).toBe('');
    for (const client of [first, second]) expect(await answered(client, get())).toContain('from 127.0.0.1');
    const other = await connectTo(server, '127.0.0.2');
    expect(await answered(other, get())).toContain('from 127.0.0.2');
    first.socket.destroy();
    await expect.poll(() => answerNew(server)).toContain('from 127.0.0.1');
  });

  it('of one address, a trusted proxy still connects', async () => {
    const server = await start({ limits: { maxPerAddress: 2 }, trustedProxies: ['127.0.0.1'] });
    const many = await Promise.all(Array.from({ length: 10 }, () => connectTo(server)));
    for (const client of many) expect(await answered(client, get())).toContain('200 OK');
  });

  it('of one address, a flood costs a sender of another address no request', async () => {
    const server = await start({ limits: { maxConnections: 64, maxPerAddress: 32 } });
    const flood: RawClient[] = [];
    for (let round = 0; round < 10; round += 1) {
      flood.push(...(await Promise.all(Array.from({ length: 10 }, () => connectTo(server)))));
      const sender = await connectTo(server, '127.0.0.2');
      expect(await answered(sender, postRequest('mine'))).toContain('200 OK');
      sender.socket.destroy();
    }
    await expect.poll(() => flood.filter(({ socket }) => !socket.destroyed).length).toBe(32);
  });

  it('is logged once in ten seconds, with their number', async () => {
    const { lines, logger } = collectLog('warn');
    const clock = new ManualClock();
    const server = await start({ limits: { maxConnections: 1 }, logger, clock });
    await connectTo(server);
    for (let times = 0; times < 3; times += 1) expect(await answerNew(server)).toBe('');
    await clock.advance(10_000);
    expect(await answerNew(server)).toBe('');
    expect(lines.map((line) => JSON.parse(line).count)).toEqual([1, 3]);
  });
});

/** Counts the requests that Node parses from now on until the test ends. */
function watchRequests(): () => number {
  let count = 0;
  const note = (): void => {
    count += 1;
  };
  subscribe('http.server.request.start', note);
  onTestFinished(() => void unsubscribe('http.server.request.start', note));
  return () => count;
}
