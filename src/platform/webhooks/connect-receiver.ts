import { isIP, type LookupFunction, connect as openTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as openTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { HostLookup } from './host-lookup.ts';
import { isPublicAddress } from './public-address.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';

/** A receiver's host leads to an address that is not public. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super('the host leads to an address that is not public');
  }
}

/** No connection, TLS included, came about in time. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
  readonly code = 'CONNECT_TIMEOUT';

  constructor() {
    super('no connection came about in time');
  }
}

/** Opens sockets; the default is node's own. */
export interface Sockets {
  tcp(options: TcpNetConnectOpts): Socket;
  tls(options: TcpNetConnectOpts & { servername?: string; ALPNProtocols: string[] }): Socket;
}

const nodeSockets: Sockets = { tcp: (options) => openTcp(options), tls: (options) => openTls(options) };

export interface ConnectReceiverOptions {
  readonly hosts: TunnelHosts;
  readonly lookup: HostLookup;
  readonly clock: Clock;
  /** For name resolution, TCP and TLS together. */
  readonly deadlineMs: number;
  readonly sockets?: Sockets;
}

interface Checked {
  readonly host: string;
  readonly lookup?: LookupFunction;
}

/** The addresses that were checked are the ones connected to: a second resolution could answer otherwise. */
async function checkHost(host: string, lookup: HostLookup): Promise<Checked> {
  // A custom lookup is not asked about literals, so those are checked here.
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) throw new AddressRefused();
    return { host };
  }
  const addresses = await lookup(host);
  if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) {
    throw new AddressRefused();
  }
  const answer: LookupFunction = (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  return { host, lookup: answer };
}

async function openSocket(
  options: ConnectReceiverOptions,
  hostname: string,
  port: number,
): Promise<{ socket: Socket; ready: 'connect' | 'secureConnect' }> {
  const sockets = options.sockets ?? nodeSockets;
  const host = hostname.replace(/\.$/, '');
  const target = options.hosts.target(host);
  if (target !== undefined) {
    const { hostname: to, port: toPort } = new URL(target);
    const address = to.replace(/^\[|\]$/g, '');
    return { socket: sockets.tcp({ host: address, port: Number(toPort || 80) }), ready: 'connect' };
  }
  const checked = await checkHost(host, options.lookup);
  const socket = sockets.tls({
    ...checked,
    port,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
  return { socket, ready: 'secureConnect' };
}

/**
 * How delivery reaches a receiver: TLS to an address that was found public right before, or plain TCP to a
 * tunnel's target. Runs at every connect, so a name that was public when it was configured and is not any
 * more gets no event. Implements `Rules per endpoint, 12-14`: a publicly reachable host.
 */
export function connectReceiver(options: ConnectReceiverOptions): buildConnector.connector {
  const connect = async (hostname: string, port: number, over: AbortSignal): Promise<Socket> => {
    const { socket, ready } = await openSocket(options, hostname, port);
    socket.setNoDelay(true);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        socket.destroy();
        reject(over.reason);
      };
      over.addEventListener('abort', abort, { once: true });
      socket.once(ready, () => {
        over.removeEventListener('abort', abort);
        socket.off('error', reject);
        resolve(socket);
      });
      socket.once('error', reject);
      if (over.aborted) abort();
    });
  };

  return ({ hostname, port }, callback) => {
    const over = new AbortController();
    const cancel = options.clock.after(options.deadlineMs, () => over.abort(new ConnectTimeout()));
    const timedOut = new Promise<never>((_resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true });
    });
    Promise.race([connect(hostname, Number(port || 443), over.signal), timedOut]).then(
      (socket) => {
        cancel();
        callback(null, socket);
      },
      (error: unknown) => {
        cancel();
        callback(error instanceof Error ? error : new ConnectTimeout(), null);
      },
    );
  };
}
