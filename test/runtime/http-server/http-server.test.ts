import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import {
  DEFAULT_HTTP_LIMITS,
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../../../src/runtime/http-server/http-server.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { listen } from '../../support/listen.ts';
import { connectRaw, postRequest, type RawClient } from './raw-client.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const started: HttpServer[] = [];

async function start(app: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await listen(app, options);
  started.push(server);
  return server;
}

/** Echoes the body when it is complete. */
const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(Buffer.concat(chunks)));
  request.on('error', () => response.destroy());
};

const QUICK_LIMITS = { headersTimeoutMs: 150, requestTimeoutMs: 300, checkIntervalMs: 30 };

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.drain(0)));
});

describe('the target of a request', () => {
  it.each([
    ['/hook?a=1', '/hook?a=1', 'test'],
    ['http://connector.example/hook?a=1', '/hook?a=1', 'connector.example'],
    ['HTTPS://connector.example:8443/hook', '/hook', 'connector.example:8443'],
    ['http://connector.example', '/', 'connector.example'],
    ['http://connector.example?a=1', '/?a=1', 'connector.example'],
  ])('%s is read as a path and a host', async (target, path, host) => {
    const server = await start(({ url, headers, headersDistinct }, response) =>
      response.end(JSON.stringify([url, headers.host, headersDistinct['host']])),
    );
    const client = await connectRaw(server.port);
    client.socket.write(`GET ${target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
    await client.ended;
    expect(client.received()).toContain(`\r\n\r\n${JSON.stringify([path, host, [host]])}`);
  });
});

describe('whatever is answered', () => {
  it.each([
    ['by the app', 200, 'GET / HTTP/1.1\r\nHost: test\r\n'],
    ['to an unsupported expectation', 417, 'GET / HTTP/1.1\r\nHost: test\r\nExpect: miracles\r\n'],
    ['without a host', 400, 'GET / HTTP/1.1\r\n'],
    ['to bytes that are not HTTP', 400, 'hello\r\n'],
    [
      'to headers that are too long',
      431,
      `GET / HTTP/1.1\r\nHost: test\r\nX-Long: ${'x'.repeat(16_384)}\r\n`,
    ],
    ['to headers that never end', 408, 'GET / HTTP/1.1\r\nHost: te'],
  ])('%s forbids content sniffing', async (_, status, head) => {
    const server = await start((_request, response) => response.writeHead(200, { A: 'b' }).end('fine'), {
      limits: QUICK_LIMITS,
    });
    const client = await connectRaw(server.port);
    client.socket.write(head.endsWith('\r\n') ? `${head}Connection: close\r\n\r\n` : head);
    expect(await client.ended).toBeUndefined();
    expect(client.received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(client.received().match(/^X-Content-Type-Options: nosniff\r$/gim)).toHaveLength(1);
  });

  it('is not written into a response that has begun', async () => {
    const server = await start((_request, response) => void response.writeHead(200).write('begun'));
    const client = await connectRaw(server.port);
    client.socket.write('POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
    await once(client.socket, 'data');
    client.socket.write('no chunk\r\n');
    await client.ended;
    expect(client.received().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

describe('a client that waits for 100 Continue', () => {
  const HEAD = 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n';
  const statuses = (client: RawClient): string[] => client.received().match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];

  it('receives it when the app begins to read', async () => {
    const server = await start(echo);
    const client = await connectRaw(server.port);
    client.socket.write(HEAD);
    await once(client.socket, 'data');
    expect(client.received()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.socket.write('body');
    await once(client.socket, 'data');
    expect(statuses(client)).toEqual(['100', '200']);
    // The connection serves the next one.
    client.socket.write(HEAD);
    await once(client.socket, 'data');
    client.socket.end('more');
    await client.ended;
    expect(statuses(client)).toEqual(['100', '200', '100', '200']);
  });

  it.each([
    ['at once', () => undefined],
    ['while it discards the body', (request) => request.resume()],
    ['later', () => new Promise((resolve) => setImmediate(resolve))],
  ] as [string, (request: IncomingMessage) => unknown][])(
    'receives none if the app answers %s, and no body is mistaken for the next request',
    async (_, before) => {
      const asked: (string | undefined)[] = [];
      const server = await start(async (request, response) => {
        asked.push(request.url);
        const waits = before(request);
        if (waits instanceof Promise) await waits;
        response.writeHead(401).end('no');
      });
      const client = await connectRaw(server.port);
      client.socket.write(HEAD);
      await once(client.socket, 'data');
      client.socket.write('GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n');
      await client.ended;
      expect(statuses(client)).toEqual(['401']);
      expect(client.received()).toMatch(/\r\nConnection: close\r\n/);
      expect(asked).toEqual(['/']);
    },
  );

  it('receives none if it did not wait', async () => {
    const server = await start((request, response) => {
      setImmediate(() => echo(request, response));
    });
    const client = await connectRaw(server.port);
    client.socket.write(`${HEAD}body`);
    await once(client.socket, 'data');
    client.socket.end();
    await client.ended;
    expect(statuses(client)).toEqual(['200']);
  });
});

describe('the limits of the HTTP server', () => {
  it('are strict by default', () => {
    expect(DEFAULT_HTTP_LIMITS).toMatchObject({
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 15_000,
      checkIntervalMs: 2_000,
    });
  });

  it('end a connection whose body never ends', async () => {
    const server = await start(echo, { limits: QUICK_LIMITS });
    const client = await connectRaw(server.port);
    client.socket.write('POST /hook HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf');

    await client.ended;
    expect(client.received()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('end a connection that sends its headers byte by byte', async () => {
    const server = await start(echo, { limits: QUICK_LIMITS });
    const client = await connectRaw(server.port);
    client.socket.write('GET / HTTP/1.1\r\nHost: test\r\n');
    const drip = setInterval(() => client.socket.write('X-Drip: 1\r\n'), 20);

    await client.ended;
    clearInterval(drip);
    expect(client.received()).toMatch(/^HTTP\/1\.1 408 |^$/);
  });
});

describe('a port that is unavailable', () => {
  it('is reported together with its setting', async () => {
    const server = await start(echo);
    const second = startHttpServer({
      app: echo,
      host: '127.0.0.1',
      port: server.port,
      logger,
      clock: systemClock,
      portSetting: 'CONNECTOR_PORT',
    });
    await expect(second).rejects.toThrow(
      `Cannot listen on 127.0.0.1 port ${server.port}: the port is in use. ` +
        'Stop the process that uses it, or set CONNECTOR_PORT to another port (0 selects a free one).',
    );
    await expect(second).rejects.toMatchObject({ name: 'ListenError', code: 'EADDRINUSE' });
  });

  it('is reported for an address that this machine does not have', async () => {
    const listening = startHttpServer({ app: echo, host: '192.0.2.1', port: 0, logger, clock: systemClock });
    await expect(listening).rejects.toThrow('this machine has no such address');
  });
});

interface Load {
  readonly clients: RawClient[];
  readonly send: () => Promise<void>;
}

const CONNECTIONS = 40;

/** Keep-alive connections that have been used once, and ones that are new to the server. */
async function prepareLoad(port: number): Promise<Load> {
  const used = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(port)));
  for (const client of used) client.socket.write(postRequest('first'));
  await Promise.all(used.map((client) => once(client.socket, 'data')));
  const clients = [...used];
  return {
    clients,
    async send() {
      clients.push(...(await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(port)))));
      clients.forEach((client, index) => {
        client.socket.write(postRequest(`sent before the drain ${index};`));
      });
    },
  };
}

async function countAnswered(load: Load): Promise<number> {
  await Promise.all(load.clients.map((client) => client.ended));
  return load.clients.filter((client, index) => client.received().includes(`sent before the drain ${index};`))
    .length;
}

/** Whether the port refuses connections. The drain ends one that was still accepted. */
async function refuses(port: number): Promise<boolean> {
  try {
    await connectRaw(port);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  }
}

describe('a drain', () => {
  it('answers every request that was sent before it, and announces that the connection closes', async () => {
    const server = await start(echo);
    const load = await prepareLoad(server.port);
    await load.send();
    await server.drain();

    expect(await countAnswered(load)).toBe(2 * CONNECTIONS);
    expect(load.clients.every((client) => /connection: close/i.test(client.received()))).toBe(true);
  });

  it('loses none of them in a process that gets no CPU for a while', async () => {
    const server = await start(echo);
    const load = await prepareLoad(server.port);
    await load.send();
    const drained = server.drain(5_000);
    const until = systemClock.elapsed() + 200;
    while (systemClock.elapsed() < until);
    await drained;

    expect(await countAnswered(load)).toBe(2 * CONNECTIONS);
  });

  it('refuses new connections at once while it finishes an open request', async () => {
    let answer: (() => void) | undefined;
    const server = await start((_request, response) => {
      answer = () => response.end('finished');
    });
    const client = await connectRaw(server.port);
    client.socket.write(postRequest('slow'));
    await expect.poll(() => answer).toBeDefined();

    const drained = server.drain(10_000);
    await expect.poll(() => refuses(server.port)).toBe(true);

    answer?.();
    await drained;
    await client.ended;
    expect(client.received()).toContain('finished');
    expect(client.received()).toMatch(/connection: close/i);
  });

  it('cuts off unfinished requests at the deadline', async () => {
    const server = await start((_request, response) => response.write('an endless stream'));
    const client = await connectRaw(server.port);
    client.socket.write(postRequest('x'));
    await once(client.socket, 'data');

    await server.drain(50);
    await client.ended;
    expect(client.received()).toContain('an endless stream');
  });

  it('ends streams, so that it need not wait for its deadline', async () => {
    let endStream: (() => void) | undefined;
    const server = await start(
      (_request, response) => {
        response.write('stream');
        endStream = () => response.end('over');
      },
      { onDrain: () => endStream?.() },
    );
    const client = await connectRaw(server.port);
    client.socket.write(postRequest('x'));
    await once(client.socket, 'data');

    await server.drain(60_000);
    await client.ended;
    expect(client.received()).toContain('over');
  });

  it('closes idle connections', async () => {
    const server = await start(echo);
    const client = await connectRaw(server.port);
    client.socket.write(postRequest('x'));
    await once(client.socket, 'data');

    await server.drain(60_000);
    expect(await client.ended).toBeUndefined();
  });

  it('closes connections that never sent a byte, and does not wait for them', async () => {
    const server = await start(echo);
    const client = await connectRaw(server.port);

    await server.drain(60_000);
    await client.ended;
    expect(client.received()).toBe('');
  });

  it('happens once, however often it is requested', async () => {
    const server = await start(echo);
    await Promise.all([server.drain(), server.drain(), server.drain()]);
    await server.drain();
    await expect(connectRaw(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
