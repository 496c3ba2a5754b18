import { isIP, connect as openTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as openTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../clock/clock.ts';
import { type CheckedHost, checkHost } from './check-host.ts';
import type { HostLookup } from './host-lookup.ts';

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

/** Where a connection goes: a host without brackets and trailing dot. */
export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface ConnectPublicOptions {
  readonly lookup: HostLookup;
  readonly clock: Clock;
  /** For name resolution, TCP and TLS together. */
  readonly deadlineMs: number;
  /** Where a target leads without the check; undefined: to where it says, checked. */
  readonly detour?: (target: ConnectTarget) => ConnectTarget | undefined;
  readonly sockets?: Sockets;
}

interface Opening {
  readonly socket: Socket;
  readonly ready: 'connect' | 'secureConnect';
}

async function openSocket(options: ConnectPublicOptions, target: ConnectTarget): Promise<Opening> {
  const detour = options.detour?.(target);
  const { port, tls } = detour ?? target;
  const checked: CheckedHost = detour ?? (await checkHost(target.host, options.lookup));
  const sockets = options.sockets ?? nodeSockets;
  const { host, lookup } = checked;
  const address = { host, port, ...(lookup === undefined ? {} : { lookup }) };
  if (!tls) return { socket: sockets.tcp(address), ready: 'connect' };
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = sockets.tls({ ...address, ...named, ALPNProtocols: ['http/1.1'] });
  return { socket, ready: 'secureConnect' };
}

/**
 * How an HTTP client reaches hosts that somebody else has named: only at addresses that were found public right
 * before, and at exactly those. Runs at every connect, so a name that was public once and is not any more is not
 * reached. A connection fails with `AddressRefused`, `ConnectTimeout` or what the socket says.
 */
export function connectPublic(options: ConnectPublicOptions): buildConnector.connector {
  const connect = async (target: ConnectTarget, over: AbortSignal): Promise<Socket> => {
    const { socket, ready } = await openSocket(options, target);
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

  return ({ hostname, port, protocol }, callback) => {
    const tls = protocol !== 'http:';
    const target = { host: hostname.replace(/\.$/, ''), port: Number(port || (tls ? 443 : 80)), tls };
    const over = new AbortController();
    const cancel = options.clock.after(options.deadlineMs, () => over.abort(new ConnectTimeout()));
    const timedOut = new Promise<never>((_resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true });
    });
    Promise.race([connect(target, over.signal), timedOut]).then(
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
