import { isIP, connect as openTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as openTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import { type CheckedHost, checkHost } from './check-host.ts';
import type { HostLookup } from './host-lookup.ts';

/** The connection, including TLS, was not established in time. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
  readonly code = 'CONNECT_TIMEOUT';

  constructor() {
    super('the connection was not established in time');
  }
}

/** Opens sockets; Node's own function by default. */
export interface Sockets {
  tcp(options: TcpNetConnectOpts): Socket;
  tls(options: TcpNetConnectOpts & { servername?: string; ALPNProtocols: string[] }): Socket;
}

const nodeSockets: Sockets = { tcp: (options) => openTcp(options), tls: (options) => openTls(options) };

/** The target of a connection: a host without brackets and trailing dot. */
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
  /** Where to connect without the check; undefined for the checked host itself. */
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
 * Connects an HTTP client to hosts provided by others: only to addresses that were just checked to be public,
 * and to exactly those. Runs at every connect, so a name that was public once but no longer is cannot be
 * reached. A connection fails with `AddressRefused`, `ConnectTimeout` or the error of the socket.
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
    const opening = connect(target, over.signal);
    within(options.clock, options.deadlineMs, opening, () => new ConnectTimeout()).then(
      (socket) => callback(null, socket),
      (error: Error) => {
        over.abort(error);
        callback(error, null);
      },
    );
  };
}
