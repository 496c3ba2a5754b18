import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, it } from 'vitest';
import { AddressRefused, findNetwork } from '../../../src/runtime/public-network/check-host.ts';
import { fetchWithin } from '../../../src/runtime/public-network/fetch-within.ts';
import { readAddressVectors } from '../../support/address-vectors.ts';
import { ofFile } from '../../support/of-file.ts';
import { serve } from '../../support/serve.ts';

let requests: { readonly request: IncomingMessage; readonly body: string }[];
/** The addresses to which every name resolves. */
let addresses: readonly string[];
const lookup = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

const server = createServer(async (request, response) => {
  requests.push({ request, body: await text(request) });
  // Every request opens its own socket.
  const headers = { connection: 'close', location: '/' };
  response.writeHead(request.url === '/elsewhere' ? 302 : 200, headers).end('{"ok":true}');
});
const served = ofFile(() => serve(server));
beforeEach(() => {
  requests = [];
  addresses = ['127.0.0.1'];
});

const refused = expect.objectContaining({ cause: expect.any(AddressRefused) });

it('a call within a network has method, headers and body, and follows no redirect by default', async () => {
  const within = fetchWithin('private', lookup);
  const answer = await within(`http://service.example:${served.port}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: '{"text":"größer"}',
  });
  expect([answer.status, answer.ok, await answer.json()]).toEqual([200, true, { ok: true }]);
  expect(requests[0]?.body).toBe('{"text":"größer"}');
  expect(requests[0]?.request).toMatchObject({
    method: 'POST',
    url: '/messages',
    headers: { host: `service.example:${served.port}`, authorization: 'Bearer key' },
  });
  const moved = await within(`http://service.example:${served.port}/elsewhere`, { redirect: 'manual' });
  expect([moved.status, requests.length]).toEqual([302, 2]);
});

it('a name that later resolves to another network is not followed there', async () => {
  const within = fetchWithin('private', lookup);
  const url = `http://service.example:${served.port}/`;
  await (await within(url)).text();
  for (const moved of [['93.184.216.34'], ['127.0.0.1', '93.184.216.34'], []]) {
    addresses = moved;
    await expect(within(url)).rejects.toEqual(refused);
  }
  const open = fetchWithin('public', lookup);
  for (const { addresses: found } of readAddressVectors().refused_when_it_leads_to) {
    addresses = found;
    await expect(open(url)).rejects.toEqual(refused);
  }
  expect(requests).toHaveLength(1);
});

it('an address instead of a name is checked too', async () => {
  const open = fetchWithin('public', lookup);
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433']) {
    await expect(open(`http://${host}:${served.port}/`), host).rejects.toEqual(refused);
  }
  await (await fetchWithin('private', lookup)(`http://127.0.0.1:${served.port}/`)).text();
  expect(requests).toHaveLength(1);
});

it('an aborted call ends', async () => {
  const giveUp = new AbortController();
  const hanging = fetchWithin('private', () => new Promise(() => undefined));
  const failed = expect(hanging('http://service.example/', { signal: giveUp.signal })).rejects.toThrow();
  giveUp.abort();
  await failed;
});

it.each([
  [['93.184.216.34', '2606:2800:220:1::1'], 'public'],
  [['127.0.0.1', '::1'], 'private'],
  [['10.0.0.1'], 'private'],
] as const)('a host that resolves to %j belongs to the %s network', async (found, network) => {
  addresses = found;
  expect(await findNetwork('service.example', lookup)).toBe(network);
});

it('a host that resolves to both networks belongs to neither', async () => {
  addresses = ['93.184.216.34', '10.0.0.1'];
  await expect(findNetwork('service.example', lookup)).rejects.toBeInstanceOf(AddressRefused);
  expect(await findNetwork('192.168.0.1', lookup)).toBe('private');
});

it.each([
  ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['100 with a header, twice', 'HTTP/1.1 100 Continue\r\nvia: 1.1 proxy\r\n\r\nHTTP/1.1 100 \r\n\r\n'],
  ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['102 and 100', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n'],
  ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
])('an unasked %s before the answer is passed over, in any pieces', async (_what, interim) => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
  const both = interim + answer;
  const pieces = [[both], [...both], ...[3, 10, 12, 20].map((at) => [both.slice(0, at), both.slice(at)])];
  const odd = createTcpServer({ noDelay: true }, (socket) => {
    socket.on('data', async () => {
      for (const piece of pieces.shift() ?? []) {
        await new Promise((resolve) => socket.write(piece, resolve));
        // The client reads it before the next one is sent.
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
  });
  const { url, close } = await serve(odd);
  for (const network of ['private', 'any'] as const) {
    const call = fetchWithin(network);
    for (let answers = 0; answers < 3; answers += 1) {
      const got = await call(`${url}/`, { method: 'POST', body: '{}' });
      expect([got.status, await got.text()]).toEqual([200, 'ok']);
    }
  }
  expect(pieces).toEqual([]);
  await close();
});

it('a body that looks like an interim response is not changed', async () => {
  const body = 'HTTP/1.1 100 Continue\r\n\r\nH';
  const plain = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-length': body.length });
      response.flushHeaders();
      setImmediate(() => response.end(body));
    });
  });
  const { url, close } = await serve(plain);
  const got = await fetchWithin('any')(`${url}/`);
  expect(await got.text()).toBe(body);
  await close();
});
