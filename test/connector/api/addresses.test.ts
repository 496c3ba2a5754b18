import { describe, expect, it, vi } from 'vitest';
import { CONNECTOR_ENDPOINTS } from '../../../src/contract/connector/endpoints.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';

const { world, running } = connectorOfFile(({ database }) => ({ hosts: ['crm.example'], database }));

interface Asked {
  readonly host?: string | null;
  readonly token?: string;
  readonly method?: string;
}

/** The status and the whole answer to a request for exactly this path. */
async function ask(path: string, { host = '127.0.0.1', token, method = 'GET' }: Asked = {}) {
  const lines = [
    `${method} ${path} HTTP/${host === null ? '1.0' : '1.1'}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'Connection: close',
  ];
  const { statuses, received } = await exchangeRaw(
    Number(new URL(running.url).port),
    `${lines.join('\r\n')}\r\n\r\n`,
  );
  return { status: statuses[0], received };
}

const endpoints = Object.values(CONNECTOR_ENDPOINTS).map(({ path, method }) => ({
  path: path.replaceAll(/\{\w+\}/g, 'x'),
  method,
}));
const paths = endpoints
  .map(({ path }) => path)
  .filter((path) => !path.startsWith('/webhooks/') && !path.startsWith('/oauth/'));

describe('an address', () => {
  it.each([...new Set(paths)])('matches exactly what the contract says: %s', async (path) => {
    const isPatched = endpoints.some((each) => each.path === path && each.method === 'PATCH');
    expect((await ask(path, { method: isPatched ? 'PUT' : 'PATCH', token: TOKEN })).status).toBe(405);
    const last = path.split('/').at(-1) ?? '';
    const others = [
      path.toUpperCase(),
      `${path}/`,
      `/${path}`,
      path.replace(last, last.charAt(0).toUpperCase() + last.slice(1)),
      path.replace(last, `%${last.charCodeAt(0).toString(16)}${last.slice(1)}`),
    ].filter((other) => other !== path && !/\/(?:x|X|%78)(?=\/|$)/.test(other));
    for (const other of others) {
      for (const method of ['GET', 'POST', 'DELETE', 'PUT']) {
        const { status, received } = await ask(other, { method, token: TOKEN });
        // There another word is the id of an account.
        const expected = path.startsWith('/v1/accounts/') ? [404, 405] : [404];
        expect({ other, fits: expected.includes(status ?? 0) }).toEqual({ other, fits: true });
        expect(received).not.toContain('HELP');
      }
    }
  });
});

describe('the Host header of a request to a local listener', () => {
  it.each(['127.0.0.1', 'localhost:4020', 'LOCALHOST', '[::1]:80', 'crm.example', 'crm.example:443'])(
    'may be %s',
    async (host) => {
      expect((await ask('/healthz', { host })).status).toBe(200);
    },
  );

  it.each(['evil.example', 'crm.example.evil', '127.0.0.1.evil.example', '169.254.169.254', 'a b', ''])(
    'may not be %j',
    async (host) => {
      for (const path of ['/healthz', '/readyz', '/v1/messages', '/nothing']) {
        const { status, received } = await ask(path, { host, token: TOKEN });
        // What is no name at all is refused before anybody looks at it.
        expect([400, 403]).toContain(status);
        if (status === 403) expect(received).toContain('"error":"foreign_host"');
      }
    },
  );

  it('may be missing, as in the requests of old clients such as probes of proxies', async () => {
    expect((await ask('/healthz', { host: null })).status).toBe(200);
  });

  it('is not checked for a delivery, which is verified by its signature', async () => {
    const { status } = await ask('/webhooks/messaging', { host: 'tunnel.example', method: 'POST' });
    expect(status).toBe(401);
  });

  it('is not checked if the listener is public or a proxy is configured', async () => {
    const open = await world.start();
    const { statuses } = await exchangeRaw(
      Number(new URL(open.url).port),
      'GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(statuses).toEqual([200]);
    await open.stop();
  });
});

describe('every answer', () => {
  const delivery = '/webhooks/messaging';
  it.each<[method: string, path: string, status: number, token: string | null, raw?: string]>([
    ['GET', '/healthz', 200, null],
    ['GET', '/nothing', 404, null],
    ['GET', '/v1/messages', 401, null],
    ['GET', '/metrics', 401, null],
    ['POST', delivery, 401, null],
    ['PATCH', '/v1/messages', 405, TOKEN, '{}'],
    ['POST', '/v1/messages', 413, TOKEN, 'x'.repeat(23 * 1024 * 1024)],
    ['POST', '/v1/messages', 400, TOKEN, '{'],
    ['GET', '/v1/changes?after=x', 400, TOKEN],
    ['GET', '/v1/messages/nothing/media', 404, TOKEN],
    ['GET', '/v1/openapi.json', 200, TOKEN],
    ['GET', '/metrics', 200, TOKEN],
  ])('to %s %s with status %d has a type, and forbids sniffing', async (method, path, status, token, raw) => {
    const answer = await running.ask(method, path, { token, ...(raw === undefined ? {} : { raw }) });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-type')).toMatch(/; charset=utf-8$/);
    if (token !== null || path === delivery) return;
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
    );
  });
});

describe('probes and metrics', () => {
  it('are computed once a second, however many requests arrive', async () => {
    await world.clock.advance(1_000);
    const looks = vi.spyOn(world.database, 'ping');
    const askAll = () => Promise.all(Array.from({ length: 50 }, () => running.ask('GET', '/readyz')));
    await askAll();
    await askAll();
    expect(looks).toHaveBeenCalledTimes(1);
    await world.clock.advance(1_000);
    await askAll();
    expect(looks).toHaveBeenCalledTimes(2);
  });

  it('are rendered once a second, and a scrape in the next second shows new values', async () => {
    const scrape = async (): Promise<string> => String((await running.ask('GET', '/metrics')).body['text']);
    await world.clock.advance(1_000);
    const before = await scrape();
    await running.ask('POST', '/webhooks/messaging', { token: null });
    expect(await scrape()).toBe(before);
    await world.clock.advance(1_000);
    expect(await scrape()).not.toBe(before);
  });
});

describe('a database that does not respond', () => {
  it.each([
    ['GET', '/v1/changes'],
    ['GET', '/v1/changes/stream?after=latest'],
  ])('delays a reader of changes by at most eight seconds: %s %s', async (method, path) => {
    const silent = await world.start({ database: silence(world.openDatabase()), role: 'web' });
    const silenced = Promise.withResolvers<void>();
    heard = silenced.promise;
    world.clock.forget();
    const asked = silent.ask(method, path);
    await world.clock.timerSet(8_000);
    await world.clock.advance(8_000);
    const answer = await asked;
    silenced.resolve();
    expect([answer.status, answer.body['error']]).toEqual([503, 'unavailable']);
    expect(answer.headers.get('retry-after')).toBe('1');
    await silent.stop();
  });
});

let heard: Promise<void> = Promise.resolve();

/** The same database, which does nothing while nobody is heard. */
function silence(database: Database): Database {
  const onceHeard = async <T>(work: () => Promise<T>): Promise<T> => {
    await heard;
    return await work();
  };
  return {
    query: (text, params, options) => onceHeard(() => database.query(text, params, options)),
    transaction: (work, options) => onceHeard(() => database.transaction(work, options)),
    lock: (name, onLost) => onceHeard(() => database.lock(name, onLost)),
    ping: (deadlineMs) => onceHeard(() => database.ping(deadlineMs)),
    health: database.health,
    close: () => database.close(),
  };
}
