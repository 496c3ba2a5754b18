import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as openTcp } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createFileOpener,
  type FileUnavailable,
  LARGEST_FILE_BYTES,
  type OpenFileRequest,
  type OwnService,
} from '../../../src/connector/media/open-file.ts';
import type { Sockets } from '../../../src/runtime/public-network/connect-public.ts';
import { readAddressVectors } from '../../support/address-vectors.ts';
import { ofFile } from '../../support/of-file.ts';
import { serve } from '../../support/serve.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const vectors = readAddressVectors();
const clock = new WatchedClock();
let requests: IncomingMessage[];
let answer: (response: ServerResponse) => void;
/** The services of accounts. */
let services: Record<string, OwnService>;
/** What every name leads to. */
let addresses: readonly string[];

const server = createServer((request, response) => {
  requests.push(request);
  answer(response);
});
const served = ofFile(() => serve(server));
let own: string;
beforeEach(() => {
  own = served.url;
  requests = [];
  answer = (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('bytes');
  addresses = ['93.184.216.34'];
  services = { own: { origin: own, network: null } };
  clock.forget();
});
// Every timer and every socket is let go, however it ends.
afterEach(async () => {
  expect(clock.pending).toBe(0);
  served.hangUp();
});

/** Public addresses lead to the server above, so that a test sees who would have been asked. */
const sockets: Sockets = {
  tcp: () => openTcp(served.port, '127.0.0.1'),
  tls: () => {
    throw new Error('no test needs TLS');
  },
};

const open = (request: Partial<OpenFileRequest> & { url: string }, dial: Sockets | undefined = sockets) =>
  createFileOpener({
    clock,
    ownService: (accountId) => Promise.resolve(services[accountId] ?? null),
    lookup: (host) =>
      host === 'nowhere.example'
        ? Promise.reject(new Error('ENOTFOUND'))
        : Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))),
    ...(dial === undefined ? {} : { sockets: dial }),
  })({ accountId: 'own', signal: new AbortController().signal, ...request });

/** Reads all of a file, and lets it go. */
async function read(url: string, mediaType: string | null = null): Promise<string> {
  const file = await open({ url, mediaType });
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.bytes) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } finally {
    file.close();
  }
}

const refusedWith = (kind: FileUnavailable['kind']) =>
  expect.objectContaining({ name: 'FileUnavailable', kind });

it('an unasked 100 Continue before a file is passed over', async () => {
  answer = (response) => {
    response.writeContinue();
    response.end('bytes');
  };
  expect(await read(`${own}/media/1`)).toBe('bytes');
});

describe('a file at an address from a message', () => {
  it('is read from a public host, without a credential and uncompressed', async () => {
    expect(await read('http://files.example.com/media/1?key=a%20b')).toBe('bytes');
    expect(requests.map(({ url, headers }) => [url, headers.host, headers['accept-encoding']])).toEqual([
      ['/media/1?key=a%20b', 'files.example.com', 'identity'],
    ]);
    expect(requests[0]?.headers).not.toHaveProperty('authorization');
    expect(requests[0]?.headers).not.toHaveProperty('cookie');
  });

  it('is read from the service itself on loopback, and from no other port there', async () => {
    expect(await read(`${own}/media/1`)).toBe('bytes');
    await expect(read('http://127.0.0.1:1/media/1')).rejects.toEqual(refusedWith('refused'));
    expect(requests).toHaveLength(1);
  });

  it('of another account may not be read from the service on loopback', async () => {
    services = { ...services, other: { origin: 'https://service.example', network: 'public' } };
    for (const accountId of ['other', 'unknown']) {
      await expect(open({ url: `${own}/media/1`, accountId })).rejects.toEqual(refusedWith('refused'));
    }
    expect(requests).toEqual([]);
  });

  it('of a service on the internet is not read if its name now resolves to a private address', async () => {
    const origin = 'http://service.example';
    services = { own: { origin, network: 'public' }, inside: { origin, network: 'private' } };
    (await open({ url: `${origin}/1` })).close();
    addresses = ['127.0.0.1'];
    await expect(open({ url: `${origin}/1` })).rejects.toEqual(refusedWith('refused'));
    expect(requests).toHaveLength(1);
    (await open({ url: `${origin}/1`, accountId: 'inside' })).close();
    expect(requests).toHaveLength(2);
  });

  it.each([
    'file:///etc/passwd',
    'ftp://files.example.com/1',
    'data:text/plain,x',
    'javascript:alert(1)',
    '//files.example.com/1',
    'not an address',
    '',
    'http://user@files.example.com/1',
    'http://user:pass@files.example.com/1',
    'http://:pass@files.example.com/1',
  ])('is not requested at %j', async (url) => {
    await expect(open({ url })).rejects.toEqual(refusedWith('refused'));
    expect(requests).toEqual([]);
  });

  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '１２７.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00::1]',
  ])('opens no socket to %s', async (host) => {
    await expect(open({ url: `http://${host}/1` })).rejects.toEqual(refusedWith('refused'));
    expect(requests).toEqual([]);
  });

  it('opens no socket to a name with any address that is not public', async () => {
    for (const { what, addresses: found } of vectors.refused_when_it_leads_to) {
      addresses = found;
      await expect(open({ url: 'http://files.example.com/1' }), what).rejects.toEqual(refusedWith('refused'));
    }
    expect(requests).toEqual([]);
  });

  it('does not follow redirects', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      answer = (response) => void response.writeHead(status, { location: `${own}/secret` }).end();
      await expect(open({ url: 'http://files.example.com/1' })).rejects.toEqual(refusedWith('redirected'));
    }
    expect(requests).toHaveLength(5);
  });

  it.each([
    [404, 'gone'],
    [410, 'gone'],
    [403, 'unreachable'],
    [500, 'unreachable'],
    [204, 'unreachable'],
    [206, 'unreachable'],
  ] as const)('that is answered %i is %s', async (status, kind) => {
    answer = (response) => void response.writeHead(status).end();
    await expect(open({ url: `${own}/1` })).rejects.toEqual(refusedWith(kind));
  });

  it.each([
    ['text/html; charset=utf-8', '<html>', 'image/png', false],
    ['application/json', '{}', 'video/mp4', false],
    ['application/xml', '<Error/>', 'audio/ogg', false],
    ['text/html', '<html>', 'text/html', true],
    ['application/json', '{}', null, true],
    ['text/plain', 'bytes', 'image/png', true],
    ['image/png', '', 'image/png', false],
  ])(
    'that is answered 200 with the type %s and %j in place of %s is a file: %s',
    async (type, body, mediaType, isFile) => {
      answer = (response) => void response.writeHead(200, { 'content-type': type }).end(body);
      const reading = read(`${own}/1`, mediaType);
      if (isFile) expect(await reading).toBe(body);
      else await expect(reading).rejects.toEqual(refusedWith('unreachable'));
    },
  );

  it('in an encoding that was not requested is refused', async () => {
    answer = (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    await expect(open({ url: `${own}/1` })).rejects.toEqual(refusedWith('refused'));
  });

  it('is unreachable if its name does not resolve or nothing listens there', async () => {
    await expect(open({ url: 'http://nowhere.example/1' })).rejects.toEqual(refusedWith('unreachable'));
    const closed: Sockets = { ...sockets, tcp: () => openTcp(1, '127.0.0.1') };
    await expect(open({ url: 'http://files.example.com/1' }, closed)).rejects.toEqual(
      refusedWith('unreachable'),
    );
  });
});

describe('the limits of a file', () => {
  it('refuse a file with a declared size that is too large before a byte is read', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-length': String(LARGEST_FILE_BYTES + 1) });
      response.flushHeaders();
    };
    await expect(open({ url: `${own}/1` })).rejects.toEqual(refusedWith('refused'));
  });

  it('cut off a file without a declared size, and accept one of the largest size', async () => {
    const most = Buffer.alloc(LARGEST_FILE_BYTES, 'a');
    answer = (response) => {
      response.write(most);
      response.end();
    };
    expect((await read(`${own}/1`)).length).toBe(LARGEST_FILE_BYTES);
    answer = (response) => {
      response.write(most);
      response.end('b');
    };
    await expect(read(`${own}/1`)).rejects.toEqual(refusedWith('refused'));
  });

  it('allow a host that does not respond half a minute', async () => {
    const asked = new Promise<void>((resolve) => {
      answer = () => resolve();
    });
    const failed = expect(open({ url: `${own}/1` })).rejects.toEqual(refusedWith('unreachable'));
    await clock.timerSet(30_000);
    await asked;
    await clock.advance(30_000);
    await failed;
  });

  it('allow a host that sends byte by byte two minutes', async () => {
    answer = (response) => void response.writeHead(200).write('a');
    const file = await open({ url: `${own}/1` });
    const bytes = file.bytes[Symbol.asyncIterator]();
    expect(Buffer.from((await bytes.next()).value).toString()).toBe('a');
    const failed = expect(bytes.next()).rejects.toEqual(refusedWith('unreachable'));
    await clock.advance(120_000);
    await failed;
    file.close();
  });

  it('end with the request of the caller', async () => {
    const leave = new AbortController();
    answer = () => leave.abort();
    await expect(open({ url: `${own}/1`, signal: leave.signal })).rejects.toEqual(refusedWith('unreachable'));
  });

  it('report that the connection broke off in the middle', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.socket?.destroy());
    };
    await expect(read(`${own}/1`)).rejects.toEqual(refusedWith('unreachable'));
  });
});
