import type { LookupAddress } from 'node:dns';
import { createServer, Socket, type TcpNetConnectOpts } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  type ConnectPublicOptions,
  connectPublic,
} from '../../../src/runtime/public-network/connect-public.ts';
import { serve } from '../../support/serve.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const publicAddresses: LookupAddress[] = [
  { address: '93.184.216.34', family: 4 },
  { address: '2606:4700:4700::1111', family: 6 },
];

interface Opened {
  readonly kind: 'tcp' | 'tls';
  readonly options: TcpNetConnectOpts & { servername?: string };
  readonly socket: Socket;
}

/** Connects with sockets that only record their target. */
function dial(url: string, options: Partial<ConnectPublicOptions> & { connects?: boolean } = {}) {
  const opened: Opened[] = [];
  const clock = new WatchedClock();
  const open = (kind: Opened['kind']) => (socketOptions: Opened['options']) => {
    const socket = new Socket();
    opened.push({ kind, options: socketOptions, socket });
    if (options.connects !== false)
      setImmediate(() => socket.emit(kind === 'tcp' ? 'connect' : 'secureConnect'));
    return socket;
  };
  const connect = connectPublic({
    lookup: async () => publicAddresses,
    clock,
    deadlineMs: 10_000,
    sockets: { tcp: open('tcp'), tls: open('tls') },
    ...options,
  });
  const { hostname, port, protocol } = new URL(url);
  const done = new Promise<Error | Socket>((resolve) => {
    connect({ hostname: hostname.replace(/^\[|\]$/g, ''), port, protocol }, (error, socket) =>
      resolve(error ?? socket ?? new Error('nothing')),
    );
  });
  return { opened, clock, done };
}

describe('a connection to the public internet', () => {
  it('uses TLS to the checked addresses, with the host name', async () => {
    const { opened, done } = dial('https://hooks.example.com/');
    expect(await done).toBeInstanceOf(Socket);
    expect(opened).toMatchObject([
      { kind: 'tls', options: { host: 'hooks.example.com', port: 443, servername: 'hooks.example.com' } },
    ]);
    // A second resolution could answer differently: the socket uses this one, with the checked addresses.
    const answers = await new Promise((resolve) => {
      opened[0]?.options.lookup?.('hooks.example.com', { all: true }, (_error, found) => resolve(found));
    });
    expect(answers).toEqual(publicAddresses);
    const single = await new Promise((resolve) => {
      opened[0]?.options.lookup?.('hooks.example.com', {}, (_error, ...found) => resolve(found));
    });
    expect(single).toEqual(['93.184.216.34', 4]);
  });

  it('keeps the port of the address', async () => {
    const { opened, done } = dial('https://hooks.example.com:8443/');
    await done;
    expect(opened[0]?.options.port).toBe(8_443);
  });

  it('checks a literal address itself, because it is not looked up', async () => {
    const { opened, done } = dial('https://93.184.216.34/', {
      lookup: () => Promise.reject(new Error('asked')),
    });
    expect(await done).toBeInstanceOf(Socket);
    expect(opened).toMatchObject([{ kind: 'tls', options: { host: '93.184.216.34' } }]);
    expect(opened[0]?.options).not.toHaveProperty('servername');
  });

  it.each([
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://017700000001/',
  ])('opens no socket to %s', async (url) => {
    const { opened, done } = dial(url);
    expect(await done).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(opened).toEqual([]);
  });

  it('opens no socket to a name that now resolves to a private address', async () => {
    const lookup = async () => [...publicAddresses, { address: '192.168.0.7', family: 4 }];
    const { opened, done } = dial('https://hooks.example.com/', { lookup });
    expect(await done).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(opened).toEqual([]);
  });

  it('opens no socket to a name without an address', async () => {
    const { opened, done } = dial('https://hooks.example.com/', { lookup: async () => [] });
    expect(await done).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(opened).toEqual([]);
  });

  it('uses plain TCP for http, only to checked addresses', async () => {
    const { opened, done } = dial('http://files.example.com/');
    expect(await done).toBeInstanceOf(Socket);
    expect(opened).toMatchObject([{ kind: 'tcp', options: { host: 'files.example.com', port: 80 } }]);
    expect(opened[0]?.options.lookup).toBeTypeOf('function');
    const refused = dial('http://10.0.0.1/');
    expect(await refused.done).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(refused.opened).toEqual([]);
  });

  it('uses a configured route without resolving the name', async () => {
    const { opened, done } = dial('https://hooks.example.com./', {
      detour: ({ host, port, tls }) =>
        host === 'hooks.example.com' && port === 443 && tls
          ? { host: '127.0.0.1', port: 4_020, tls: false }
          : undefined,
      lookup: () => Promise.reject(new Error('asked')),
    });
    expect(await done).toBeInstanceOf(Socket);
    expect(opened).toMatchObject([{ kind: 'tcp', options: { host: '127.0.0.1', port: 4_020 } }]);
  });

  it('gives up if no socket connects in time, and leaves none open', async () => {
    const { opened, clock, done } = dial('https://hooks.example.com/', { connects: false });
    await clock.timerSet(10_000);
    await clock.advance(10_000);
    expect(await done).toMatchObject({ code: 'CONNECT_TIMEOUT' });
    expect(opened.map(({ socket }) => socket.destroyed)).toEqual([true]);
    expect(clock.pending).toBe(0);
  });

  it('gives up if a name does not resolve in time', async () => {
    const { opened, clock, done } = dial('https://hooks.example.com/', {
      lookup: () => new Promise(() => undefined),
    });
    await clock.timerSet(10_000);
    await clock.advance(10_000);
    expect(await done).toMatchObject({ code: 'CONNECT_TIMEOUT' });
    expect(opened).toEqual([]);
  });

  it('reports the error of the socket', async () => {
    const { port, close } = await serve(createServer());
    await close();
    const clock = new WatchedClock();
    const connect = connectPublic({
      detour: () => ({ host: '127.0.0.1', port, tls: false }),
      lookup: async () => publicAddresses,
      clock,
      deadlineMs: 10_000,
    });
    const error = await new Promise((resolve) => {
      const callback: Parameters<typeof connect>[1] = (...[failure]) => resolve(failure);
      connect({ hostname: 'hooks.example.com', port: '', protocol: 'https:' }, callback);
    });
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(clock.pending).toBe(0);
  });
});
