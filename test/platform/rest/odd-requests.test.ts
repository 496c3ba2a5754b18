import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { askAs } from '../../support/ask-as.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { exchangeRaw, openRaw } from '../../support/raw-exchange.ts';

const DISCOVERY = '/.well-known/oauth-authorization-server';
const NOT_FOUND = [404, { error: 'not_found' }];
const NOT_ALLOWED = [405, { error: 'method_not_allowed' }];
const BAD_BODY = [400, { error: 'invalid_request', field: 'body', hint: expect.any(String) }];

describe('odd requests', () => {
  const service = ofFile(startTestPlatform);
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  beforeAll(async () => {
    seeded = await seedWorkspace(service);
  });

  /** Writes one request as it is given; answers status, parsed body (null for none) and the head. */
  async function send(
    line: string,
    headers: readonly string[] = [],
    body: string | Buffer = '',
  ): Promise<{ status: number; body: unknown; head: string }> {
    const head = [`${line} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${seeded.key}`, ...headers];
    const length = body.length === 0 ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    const bytes = `${[...head, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n`;
    const { received, statuses } = await exchangeRaw(service.port, bytes, Buffer.from(body));
    const end = received.lastIndexOf('\r\n\r\n');
    const text = Buffer.from(received.slice(end + 4), 'latin1').toString();
    return {
      status: statuses.at(-1) ?? 0,
      body: text === '' ? null : JSON.parse(text),
      head: received.slice(0, end),
    };
  }

  const answered = async (...request: Parameters<typeof send>) => {
    const { status, body } = await send(...request);
    return [status, body];
  };
  const text = (words: string) => ({ connectionId: seeded.connectionId, to: '4915100000000', text: words });

  it.each([
    '/api/v1',
    '/api/v1/',
    '/api/v1/connections/',
    '/api/v1/Connections',
    '/API/v1/connections',
    '/api//v1/connections',
    '/api/v1//connections',
    '/api/v1/./connections',
    '/api/v1/../v1/connections',
    '/api/v1/connections/..',
    '/api/v1/connections/%2e%2e',
    '/api/v1/connections%2f',
    '/api/v1/connections;v=1',
    '/api/v1/connections%20',
    '/api/v1/connections/%',
    '/api/v1/connections/%zz',
    '/api/v1/connections/%E0%A4%A',
    '/api/v1/connections/%00',
    '/api/v1/connections/a%2Fb',
    '/api/v1/connections/%252F',
    '/api/v1/connections/__proto__',
    '/api/v1/connections/constructor',
    '/api/v2/connections',
    '/%',
    '/api/v1%2Fconnections',
    `/api/v1/connections/${'a'.repeat(8_000)}`,
  ])('GET %s is not found', async (path) => {
    proves('errors.generic', 'choice.unknown-route');
    expect(await answered(`GET ${path}`)).toEqual(NOT_FOUND);
  });

  it('returns JSON and never a 500, whatever the path contains', async () => {
    proves('errors.body.code');
    const pieces = [
      '/',
      '//',
      '..',
      '.',
      '%',
      '%2F',
      '%00',
      '%FF',
      '?',
      '&',
      '=',
      ';',
      '*',
      '\\',
      '"',
      '{id}',
    ];
    const parts = ['connections', 'messages', 'webhook', 'read', 'limit', 'x', ...pieces];
    const path = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 5 });
    const paths = fc.sample(path, { seed: 1, numRuns: 300 }).map((found) => found.join(''));
    const codes = new Set<string>();
    for (const path of paths) {
      const { status, body } = await send(`GET /api/v1/${path}`);
      expect([200, 400, 404, 405], path).toContain(status);
      codes.add(status === 200 ? 'none' : String(Reflect.get(Object(body), 'error')));
    }
    expect([...codes]).toEqual(expect.arrayContaining(['none', 'not_found']));
  });

  it('accepts a target in absolute form, whose host counts instead of Host', async () => {
    expect((await send('GET http://127.0.0.1/api/v1/connections')).status).toBe(200);
    expect((await send('GET http://service.example/api/v1/connections')).status).toBe(400);
  });

  it.each([
    ['HEAD', '/api/v1/account', 'GET', null],
    ['OPTIONS', '/api/v1/messages', 'GET, POST', { error: 'method_not_allowed' }],
    ['TRACE', '/api/v1/webhook', 'GET, PUT', { error: 'method_not_allowed' }],
    ['PROPFIND', '/api/v1/webhook/rotate', 'POST', { error: 'method_not_allowed' }],
  ])('%s %s is refused, and Allow lists the accepted methods', async (method, path, allow, body) => {
    proves('choice.wrong-method');
    const answer = await send(`${method} ${path}`);
    expect([answer.status, answer.body]).toEqual([405, body]);
    expect(answer.head).toContain(`\r\nAllow: ${allow}\r\n`);
  });

  it('the asterisk form is not an address of the service', async () => {
    expect(await answered('OPTIONS *')).toEqual(NOT_FOUND);
  });

  it('a method in lower case, or one that does not exist, is refused', async () => {
    expect((await send('get /api/v1/connections')).status).toBe(400);
    expect((await send('FETCH /api/v1/connections')).status).toBe(400);
  });

  it('no variation of a valid key is accepted', async () => {
    proves('auth.key.unknown', 'auth.challenge');
    const { key } = seeded;
    const attempts = [
      'Bearer',
      'Bearer ',
      key,
      `Bearer${key}`,
      `Bearer\t${key}`,
      `Bearer "${key}"`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key} ${key}`,
      `Bearer ${key}=`,
      `Bearer ${key}%20`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key.replace('msk_', '')}`,
      `Bearer ${'a'.repeat(8_000)}`,
      `Bearer ${key}\u00a0`,
      `Token ${key}`,
      `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    ];
    for (const value of attempts) {
      const lines = [
        'GET /api/v1/webhook HTTP/1.1',
        'Host: localhost',
        `Authorization: ${value}`,
        'Connection: close',
      ];
      const { received, statuses } = await exchangeRaw(service.port, `${lines.join('\r\n')}\r\n\r\n`);
      expect([value, statuses]).toEqual([value, [401]]);
      expect(received).toContain('WWW-Authenticate: Bearer error="invalid_token"\r\n');
      expect(received).toContain('{"error":"invalid_key"}');
    }
  });

  it('a credential in the form of an access token returns invalid_token', async () => {
    for (const token of ['eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.', 'a.b.c']) {
      const answer = await service.call('GET', '/webhook', { key: token });
      expect([answer.status, answer.body]).toEqual([401, { error: 'invalid_token' }]);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    }
  });

  it('ignores the body of an endpoint without one, and continues on the same connection', async () => {
    const { key } = await seedWorkspace(service, { phoneNumber: '4915112345679' });
    const request = (line: string, last: string, body: string) =>
      `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n${last}\r\n${body}`;
    const { statuses } = await exchangeRaw(
      service.port,
      request('GET /api/v1/connections', '', '{not json'),
      request('GET /api/v1/messages', '', 'x'.repeat(100_000)),
      request('POST /api/v1/webhook/rotate', '', '\u0000'),
      request('GET /api/v1/webhook', 'Connection: close\r\n', ''),
    );
    expect(statuses).toEqual([200, 200, 400, 200]);
  });

  it.each(['gzip', 'GZIP', 'deflate', 'br', 'identity, gzip'])(
    'decompresses no body: Content-Encoding %s is refused',
    async (encoding) => {
      proves('errors.invalid_request');
      const body = gzipSync(JSON.stringify(text('hello')));
      expect(await answered('POST /api/v1/messages', [`Content-Encoding: ${encoding}`], body)).toEqual([
        400,
        { error: 'invalid_request', field: 'body', hint: 'send it without Content-Encoding' },
      ]);
    },
  );

  it('reads UTF-8 whatever charset is named, with a byte order mark or without', async () => {
    const type = 'Content-Type: application/json; charset=iso-8859-1';
    for (const mark of ['', '\uFEFF']) {
      const body = mark + JSON.stringify(text('grüße'));
      const sent = await send('POST /api/v1/messages', [type, 'Content-Encoding: identity'], body);
      expect(sent.status).toBe(200);
    }
    const { body } = await service.call('GET', '/messages?limit=2', { key: seeded.key });
    expect(body).toMatchObject({ messages: [{ text: 'grüße' }, { text: 'grüße' }] });
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '{"url":'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a string', '"https://hooks.example"'],
    ['a number', '1'],
    ['UTF-16', Buffer.from('{"url":"https://hooks.example"}', 'utf16le')],
    ['half a character', Buffer.from([0x22, 0xc3, 0x22])],
    ['a comment', '{/**/}'],
    ['single quotes', "{'url':'https://hooks.example'}"],
    ['two values', '{}{}'],
  ])('%s is refused as a body', async (_what, body) => {
    proves('errors.invalid_request', 'errors.body.field', 'choice.body.no-json');
    for (const line of ['PUT /api/v1/webhook', 'POST /api/v1/messages']) {
      expect(await answered(line, [], body)).toEqual(BAD_BODY);
    }
  });

  it('a body of a thousand levels, or of a long text full of brackets, is read', async () => {
    const more = `${'['.repeat(1_000)}${']'.repeat(1_000)}`;
    for (const value of [more, `"${'['.repeat(200_000)}"`]) {
      const body = `{"url":"https://hooks.example/","more":${value}}`;
      expect((await send('PUT /api/v1/webhook', [], body)).status).toBe(200);
    }
  });

  it('keys that every object has are not input', async () => {
    const body = '{"__proto__":{"url":"https://hooks.example/"},"constructor":1}';
    expect(await answered('PUT /api/v1/webhook', [], body)).toEqual([
      400,
      { error: 'invalid_request', field: 'url', hint: expect.any(String) },
    ]);
  });

  it('the last value of a repeated key counts, as in JSON.parse', async () => {
    const body = '{"url":"http://no.example/","url":"https://hooks.example/"}';
    expect((await send('PUT /api/v1/webhook', [], body)).status).toBe(200);
  });

  it('ignores unknown parameters, even if repeated or not decodable', async () => {
    expect((await send('GET /api/v1/connections?limit=1&limit=2&%')).status).toBe(200);
    expect((await send('GET /api/v1/messages?debug=1&debug=2&%zz=%')).status).toBe(200);
    expect((await send('GET /api/v1/messages?limit=%31')).status).toBe(200);
    expect(await answered('GET /api/v1/messages?limit=%')).toEqual([
      400,
      { error: 'invalid_request', field: 'limit', hint: expect.any(String) },
    ]);
  });

  it.each([
    ['POST /api/v1/messages', 'Authorization: Bearer wrong', 401],
    ['PUT /api/v1/webhook', 'Authorization: Bearer wrong', 401],
    ['POST /api/v1/messages', 'Content-Encoding: gzip', 400],
    ['PUT /api/v1/webhook', 'Content-Encoding: gzip', 400],
    ['POST /api/v1/nothing', 'X-Odd: 1', 404],
    ['PUT /api/v1/messages', 'X-Odd: 1', 405],
    ['POST /oauth/token', 'Content-Type: application/json', 400],
    ['POST /api/mcp', 'Origin: http://evil.example', 403],
  ])('%s that waits to send its body is refused before that: %s', async (line, header, status) => {
    const { received, statuses } = await exchangeRaw(
      service.port,
      `${line} HTTP/1.1\r\nHost: localhost\r\n${header.startsWith('Authorization') ? '' : `Authorization: Bearer ${seeded.key}\r\n`}${header}\r\nContent-Length: 20\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(statuses).toEqual([status]);
    expect(received).toMatch(/\r\nConnection: close\r\n/);
  });

  it.each([
    ['POST /api/v1/messages', 40_000_000],
    ['PUT /api/v1/webhook', 300_000],
    ['POST /oauth/token', 20_000],
  ])('%s that announces %d bytes is refused before they are sent', async (line, length) => {
    proves('choice.body.too-large');
    const { statuses } = await exchangeRaw(
      service.port,
      `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${seeded.key}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(statuses).toEqual([line.includes('oauth') ? 400 : 413]);
  });

  it('answers Expect: 100-continue, and refuses other expectations', async () => {
    const body = JSON.stringify({ url: 'https://hooks.example/' });
    const head = `PUT /api/v1/webhook HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${seeded.key}\r\n`;
    const waiting = openRaw(service.port);
    waiting.socket.write(
      `${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
    );
    const [invited] = await once(waiting.socket, 'data');
    expect(String(invited)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    waiting.socket.write(body);
    expect((await waiting.closed).statuses).toEqual([100, 200]);
    expect((await send('PUT /api/v1/webhook', ['Expect: miracles'], body)).status).toBe(417);
  });

  it('a URL or a header beyond 16 KiB is refused by the server, before the API', async () => {
    const long = 'a'.repeat(20_000);
    expect((await send(`GET /api/v1/connections/${long}`)).status).toBe(431);
    expect((await send('GET /api/v1/connections', [`X-Long: ${long}`])).status).toBe(431);
  });

  it('for a rebound name is refused at every address', async () => {
    proves('choice.host.foreign');
    for (const path of ['/api/v1/connections', '/oauth/authorize', '/api/mcp', '/media/x', '/nothing']) {
      for (const host of [
        'evil.example.com',
        '127.0.0.1.evil.example.com',
        'localhost@evil.example.com',
        'a b',
      ]) {
        const { status, text } = await askAs(host, service.port, path);
        expect([path, host, status]).toEqual([path, host, 400]);
        expect(JSON.parse(text)).toMatchObject({ error: 'invalid_request', field: 'Host' });
      }
    }
  });

  it('for every name of this machine are answered', async () => {
    for (const host of ['localhost', 'LOCALHOST', `127.0.0.1:${service.port}`, '127.8.8.8', '[::1]:80']) {
      expect((await askAs(host, service.port, DISCOVERY)).status).toBe(200);
    }
  });

  it('serves the next request', async () => {
    expect((await service.call('GET', '/connections', { key: seeded.key })).status).toBe(200);
    expect(await answered('DELETE /api/v1/account')).toEqual(NOT_ALLOWED);
  });
});
