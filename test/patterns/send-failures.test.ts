import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, request as nodeRequest } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import ky from 'ky';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { classifyFailure } from '../../src/patterns/send-policy.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { EXPIRED_CERTIFICATE, TEST_CERTIFICATE } from '../support/tls-certificate.ts';

describe('a failed call', () => {
  const failed = (fields: object): Error => Object.assign(new Error('failed'), fields);

  it.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
    'CERT_CHAIN_TOO_LONG',
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
    'HOSTNAME_MISMATCH',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_INVALID_URL',
    'ERR_INVALID_PROTOCOL',
    'ERR_UNESCAPED_CHARACTERS',
  ])('with %s was never sent, however deep fetch wraps it', (code) => {
    expect(classifyFailure(failed({ code }))).toEqual({ kind: 'not_sent' });
    expect(classifyFailure(new TypeError('fetch failed', { cause: failed({ code }) }))).toEqual({
      kind: 'not_sent',
    });
  });

  it('while still connecting was never sent, whatever the operating system calls it', () => {
    expect(classifyFailure(failed({ code: 'ETIMEDOUT', syscall: 'connect' }))).toEqual({ kind: 'not_sent' });
  });

  it.each([
    ['a reset', failed({ code: 'ECONNRESET' })],
    ['a closed socket', failed({ code: 'UND_ERR_SOCKET' })],
    ['no answer in time', failed({ code: 'UND_ERR_HEADERS_TIMEOUT' })],
    ['an aborted call', new DOMException('aborted', 'AbortError')],
    ['a route lost after the request began', failed({ code: 'EHOSTUNREACH', syscall: 'write' })],
    ['a route lost before the answer arrived', failed({ code: 'ENETUNREACH', syscall: 'read' })],
    ['a value that is no error', 'failed'],
  ])('because of %s may have been sent', (_what, error) => {
    expect(classifyFailure(error)).toEqual({ kind: 'lost' });
    expect(classifyFailure(new TypeError('fetch failed', { cause: error }))).toEqual({ kind: 'lost' });
  });

  it.each(['queryA', 'queryAaaa'])('in the look-up of its name (%s) was never sent', (syscall) => {
    expect(classifyFailure(failed({ code: 'ESERVFAIL', syscall }))).toEqual({ kind: 'not_sent' });
  });

  it('at each address of its name was never sent, unless one of them failed later', () => {
    // What Node throws if IPv6 and IPv4 both time out: the aggregate names no system call.
    const silent = failed({ code: 'ETIMEDOUT', syscall: 'connect' });
    const lateTimer = failed({ code: 'ERR_SOCKET_CONNECTION_TIMEOUT' });
    const both = Object.assign(new AggregateError([lateTimer, silent]), { code: 'ETIMEDOUT' });
    expect(classifyFailure(new TypeError('fetch failed', { cause: both }))).toEqual({ kind: 'not_sent' });
    expect(classifyFailure(new AggregateError([silent, failed({ code: 'ECONNRESET' })]))).toEqual({
      kind: 'lost',
    });
    expect(classifyFailure(new AggregateError([]))).toEqual({ kind: 'lost' });
  });
});

/** Each client as in `docs/patterns.md`: no retries, no redirects. Resolves with what it throws. */
const CLIENTS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  fetch: (url) => fetch(url, { method: 'POST', body: 'x', redirect: 'manual' }),
  undici: (url) => request(url, { method: 'POST', body: 'x' }),
  ky: (url) => ky.post(url, { body: 'x', redirect: 'manual', retry: 0, throwHttpErrors: false }),
};
const CLIENT_NAMES = Object.keys(CLIENTS);

async function failureOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('there is an answer');
}

describe('a call over a socket', () => {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();

  /** The port of a server on this machine, until the test ends. */
  async function listen(server: Server): Promise<number> {
    server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    for (const server of servers.splice(0)) server.close();
    sockets.clear();
  });

  it.each(
    CLIENT_NAMES.flatMap((client) =>
      [
        ['an address that cannot be parsed', 'http://[::1/messages'],
        ['an address without a host', 'http://'],
        ['a path instead of a URL', '/messages'],
        ['an unknown host name', 'http://nobody.invalid/'],
      ].map(([what = '', url = '']) => [client, what, url] as const),
    ),
  )('of %s to %s was never sent', async (client, _what, url) => {
    expect(classifyFailure(await failureOf(async () => await CLIENTS[client]?.(url)))).toEqual({
      kind: 'not_sent',
    });
  });

  it.each(CLIENT_NAMES)('of %s to a port on which nothing listens was never sent', async (client) => {
    const url = `http://127.0.0.1:${await findFreePort()}/`;
    expect(classifyFailure(await failureOf(async () => await CLIENTS[client]?.(url)))).toEqual({
      kind: 'not_sent',
    });
  });

  it.each([
    ['that is not trusted', TEST_CERTIFICATE, {}],
    ['of another name', TEST_CERTIFICATE, { ca: TEST_CERTIFICATE.cert }],
    [
      'that has expired',
      EXPIRED_CERTIFICATE,
      { ca: EXPIRED_CERTIFICATE.cert, servername: 'hooks.example.com' },
    ],
  ])('to a server with a certificate %s was never sent', async (_what, certificate, connect) => {
    let requests = 0;
    const port = await listen(
      createHttpsServer(certificate, () => {
        requests += 1;
      }),
    );
    const url = `https://127.0.0.1:${port}/`;
    const dispatcher = new Agent({ connect });
    const failures = [
      await failureOf(() => request(url, { dispatcher, method: 'POST', body: 'x' })),
      await failureOf(async () => {
        const call = nodeRequest(url, { ...connect, method: 'POST' }).end('x');
        await once(call, 'response');
      }),
      ...('ca' in connect
        ? []
        : await Promise.all(CLIENT_NAMES.map((name) => failureOf(async () => CLIENTS[name]?.(url))))),
    ];
    for (const failure of failures) expect(classifyFailure(failure)).toEqual({ kind: 'not_sent' });
    expect(requests).toBe(0);
    await dispatcher.destroy();
  });

  it('whose handshake is never answered was never sent', async () => {
    const port = await listen(createServer());
    const dispatcher = new Agent({ connect: { timeout: 1 } });
    const failure = await failureOf(() => request(`https://127.0.0.1:${port}/`, { dispatcher }));
    expect(failure).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    expect(classifyFailure(failure)).toEqual({ kind: 'not_sent' });
    await dispatcher.destroy();
  });

  it.each(
    CLIENT_NAMES.flatMap((client) =>
      (
        [
          ['closes the connection', (socket) => socket.destroy()],
          ['resets the connection', (socket) => socket.resetAndDestroy()],
          ['answers with something else than HTTP', (socket) => socket.end('nonsense\r\n\r\n')],
        ] as readonly (readonly [string, (socket: Socket) => unknown])[]
      ).map(([what, answer]) => [client, what, answer] as const),
    ),
  )('of %s may have been sent if the server reads it and %s', async (client, _what, answer) => {
    let read = '';
    const port = await listen(
      createServer((socket) => {
        socket.on('data', (chunk) => {
          read += chunk.toString();
          if (read.endsWith('\r\n\r\nx')) answer(socket);
        });
      }),
    );
    const failure = await failureOf(async () => await CLIENTS[client]?.(`http://127.0.0.1:${port}/`));
    expect(read).toMatch(/^POST /);
    expect(classifyFailure(failure)).toEqual({ kind: 'lost' });
  });

  it('may have been sent if the server does not answer in time or its caller aborts', async () => {
    const heard: string[] = [];
    const port = await listen(
      createServer((socket) => {
        socket.on('data', (chunk) => {
          heard.push(chunk.toString());
          stop.abort();
        });
      }),
    );
    const url = `http://127.0.0.1:${port}/`;
    const stop = new AbortController();
    const aborted = await failureOf(() => fetch(url, { method: 'POST', body: 'x', signal: stop.signal }));
    const dispatcher = new Agent({ headersTimeout: 1 });
    const late = await failureOf(() => request(url, { dispatcher, method: 'POST', body: 'x' }));
    expect(late).toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
    expect(heard.length).toBeGreaterThanOrEqual(2);
    expect([classifyFailure(aborted), classifyFailure(late)]).toEqual([{ kind: 'lost' }, { kind: 'lost' }]);
    await dispatcher.destroy();
  });

  it('may have been sent if the agent is destroyed meanwhile', async () => {
    const dispatcher = new Agent();
    const port = await listen(
      createServer((socket) => {
        socket.once('data', () => void dispatcher.destroy());
      }),
    );
    const failure = await failureOf(() => request(`http://127.0.0.1:${port}/`, { dispatcher }));
    expect(failure).toMatchObject({ code: 'UND_ERR_DESTROYED' });
    expect(classifyFailure(failure)).toEqual({ kind: 'lost' });
  });

  it('may have been sent if the answer is truncated', async () => {
    const port = await listen(
      createServer((socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{'));
      }),
    );
    const failure = await failureOf(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' });
      await answer.json();
    });
    expect(classifyFailure(failure)).toEqual({ kind: 'lost' });
  });

  it('that does not follow a redirect gets it as an answer; one that forbids it may have been sent', async () => {
    const port = await listen(
      createHttpServer((_request, response) => {
        response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
      }),
    );
    const url = `http://127.0.0.1:${port}/`;
    for (const client of CLIENT_NAMES) {
      const answer = (await CLIENTS[client]?.(url)) as { status?: number; statusCode?: number };
      expect([client, answer.status ?? answer.statusCode]).toEqual([client, 307]);
    }
    const forbidden = await failureOf(() => fetch(url, { method: 'POST', redirect: 'error' }));
    expect(classifyFailure(forbidden)).toEqual({ kind: 'lost' });
  });
});
