import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { clientAddress, vouchFor } from '../../../src/runtime/http-server/connections.ts';
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../../../src/runtime/http-server/http-server.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { watchPieces } from '../../support/watch-pieces.ts';
import { connectRaw, postRequest, type RawClient } from './raw-client.ts';

const started: HttpServer[] = [];
const clients: RawClient[] = [];

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await Promise.all(started.splice(0).map((server) => server.drain(0)));
});

/** Reports each request that is left unanswered. */
const hangs = new EventEmitter();

/** Vouches for `POST`, answers with the address of the caller, and leaves `/hang` unanswered. */
const app: RequestListener = (request: IncomingMessage, response: ServerResponse) => {
  if (request.method === 'POST') vouchFor(request, response);
  if (request.url === '/hang') {
    hangs.emit('one');
    return;
  }
  request.resume();
  response.end(`from ${clientAddress(request)}`);
};

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await startHttpServer({
    app,
    host: '127.0.0.1',
    port: 0,
    closesUnauthenticated: true,
    logger: createLogger({ level: 'silent', name: 'test' }),
    clock: systemClock,
    ...options,
  });
  started.push(server);
  return server;
}

async function connectTo(server: HttpServer): Promise<RawClient> {
  const client = await connectRaw(server.port);
  clients.push(client);
  return client;
}

const get = (path = '/', headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n`;

async function answered(client: RawClient, request: string): Promise<string> {
  const before = client.received().length;
  client.socket.write(request);
  await once(client.socket, 'data');
  return client.received().slice(before);
}

describe('a connection', () => {
  it('stays open for a client that was vouched for, and is closed after any other answer', async () => {
    const server = await start();
    const client = await connectTo(server);
    for (let times = 0; times < 3; times += 1) {
      expect(await answered(client, postRequest('known'))).toMatch(/^HTTP\/1\.1 200 [\s\S]*keep-alive/);
    }
    expect(await answered(client, get())).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close/);
    await client.ended;
  });

  it('stays open for everybody on a server that does not close unauthenticated connections', async () => {
    const server = await start({ closesUnauthenticated: false });
    const client = await connectTo(server);
    expect(await answered(client, get())).toContain('keep-alive');
    expect(await answered(client, get())).toContain('keep-alive');
  });

  it('of a trusted proxy stays open, and has the address of the client behind it', async () => {
    const server = await start({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    const client = await connectTo(server);
    const forwarded = 'X-Forwarded-For: 1.1.1.1, 203.0.113.7, 10.1.2.3\r\n';
    const answer = await answered(client, get('/', forwarded));
    expect(answer).toContain('keep-alive');
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
    client.socket.write('PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 20000000\r\n\r\n');
    const part = Buffer.alloc(100_000);
    for (let sent = 0; sent < 50; sent += 1) client.socket.write(part);
    await client.ended;
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*from 127\.0\.0\.1/);
  });

  it('leaves no memory to be collected from what an unauthenticated client writes after an early answer', async () => {
    const server = await start({ app: (_request, response) => response.end('no') });
    const pieces = watchPieces();
    const client = await connectTo(server);
    const length = 3_000_000;
    client.socket.write(`PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: ${length}\r\n\r\n`);
    client.socket.write(Buffer.alloc(length));
    await client.ended;
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
    await expect.poll(() => pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(length);
    expect(pieces.filter(({ piece }) => piece.length > 0)).toEqual([]);
  });
});

describe('requests on one connection', () => {
  it('are served one after the other, and answered in order', async () => {
    let open = 0;
    let most = 0;
    const server = await start({
      app: (request, response) => {
        vouchFor(request, response);
        open += 1;
        most = Math.max(most, open);
        setImmediate(() => {
          open -= 1;
          response.end(request.url);
        });
      },
    });
    const client = await connectTo(server);
    const paths = ['/1', '/2', '/3', '/4'];
    client.socket.write(
      paths.map((path) => get(path, path === '/4' ? 'Connection: close\r\n' : '')).join(''),
    );
    await client.ended;
    expect(client.received().match(/\/\d$|\/\d(?=HTTP)/g)).toEqual(paths);
    expect(most).toBe(1);
  });

  it('get an unauthenticated client one answer, however many are sent at once', async () => {
    let served = 0;
    const server = await start({
      app: (_request, response) => {
        served += 1;
        setImmediate(() => response.end('done'));
      },
    });
    const client = await connectTo(server);
    client.socket.write(get().repeat(300));
    await client.ended;
    expect(served).toBe(1);
    expect(client.received().match(/HTTP\/1\.1 200/g)).toHaveLength(1);
  });

  it('wait in a bounded number for a known client, and the connection is closed after these', async () => {
    const server = await start({
      app: (request, response) => {
        vouchFor(request, response);
        request.resume();
        setImmediate(() => response.end('done'));
      },
    });
    const client = await connectTo(server);
    client.socket.write(get().repeat(300));
    await client.ended;
    expect(client.received().match(/HTTP\/1\.1 200/g)).toHaveLength(17);
  });
});

describe('beyond the maximum number of connections', () => {
  it('those that never sent a known request are closed, oldest first', async () => {
    const server = await start({ limits: { maxConnections: 3 } });
    const known = await connectTo(server);
    await answered(known, postRequest('known'));
    const idle = await connectTo(server);
    const half = await connectTo(server);
    half.socket.write('GET / HTTP/1.1\r\nHost: te');
    const newcomer = await connectTo(server);
    await idle.ended;
    expect(await answered(newcomer, postRequest('new'))).toContain('200 OK');
    const another = await connectTo(server);
    await half.ended;
    expect(await answered(another, postRequest('new'))).toContain('200 OK');
    expect(await answered(known, postRequest('still'))).toContain('200 OK');
  });

  it('an unauthenticated client being served is closed too, a known one is not', async () => {
    const server = await start({ limits: { maxConnections: 2 } });
    const known = await connectTo(server);
    known.socket.write(postRequest('x').replace('/hook', '/hang'));
    await once(hangs, 'one');
    const slow = await connectTo(server);
    slow.socket.write(get('/hang'));
    await once(hangs, 'one');
    const newcomer = await connectTo(server);
    await slow.ended;
    expect(await answered(newcomer, postRequest('new'))).toContain('200 OK');
    newcomer.socket.write(postRequest('x').replace('/hook', '/hang'));
    await once(hangs, 'one');
    const refused = await connectTo(server);
    await refused.ended;
    expect(refused.received()).toBe('');
    expect(known.socket.destroyed || newcomer.socket.destroyed).toBe(false);
  });

  it('idle ones of known callers are closed if no others remain, least recently useful first', async () => {
    const clock = new ManualClock();
    const server = await start({ limits: { maxConnections: 2 }, clock });
    const first = await connectTo(server);
    await answered(first, postRequest('1'));
    const second = await connectTo(server);
    await answered(second, postRequest('2'));
    await clock.advance(5);
    await answered(first, postRequest('3'));
    const third = await connectTo(server);
    await second.ended;
    expect(await answered(third, postRequest('4'))).toContain('200 OK');
    expect(await answered(first, postRequest('5'))).toContain('200 OK');
  });

  it('of one address, those of that address are closed, and a trusted proxy is not counted', async () => {
    const server = await start({ limits: { maxPerAddress: 2 } });
    const idle = await connectTo(server);
    const kept = await connectTo(server);
    await answered(kept, postRequest('x'));
    await connectTo(server);
    await idle.ended;
    const proxied = await start({ limits: { maxPerAddress: 2 }, trustedProxies: ['127.0.0.1'] });
    const many = await Promise.all(Array.from({ length: 10 }, () => connectTo(proxied)));
    for (const client of many) expect(await answered(client, get())).toContain('200 OK');
  });

  it('a flood of idle connections from the address of a sender costs it no request', async () => {
    const server = await start({ limits: { maxConnections: 64, maxPerAddress: 32 } });
    const flood: RawClient[] = [];
    for (let round = 0; round < 40; round += 1) {
      flood.push(...(await Promise.all(Array.from({ length: 10 }, () => connectTo(server)))));
      const sender = await connectTo(server);
      expect(await answered(sender, postRequest('mine'))).toContain('200 OK');
      sender.socket.destroy();
    }
    expect(flood.filter(({ socket }) => socket.destroyed).length).toBeGreaterThan(300);
  });
});
