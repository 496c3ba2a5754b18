import { connect, type Socket } from 'node:net';

/** The addresses that the driver parsed from the URL. */
export interface Addresses {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Path of a Unix socket; takes precedence over host and port. */
  readonly path?: string | false;
}

type NamedSocket = Socket & { host?: string; port?: number };

function connectOnce(
  target: { path: string } | { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket: NamedSocket = connect({ ...target, noDelay: true });
    const abort = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    const settle = (): void => {
      signal.removeEventListener('abort', abort);
      socket.removeAllListeners();
    };
    socket.once('connect', () => {
      settle();
      // The driver passes the host to the TLS layer from here.
      if ('host' in target) Object.assign(socket, target);
      resolve(socket);
    });
    socket.once('error', (error) => {
      settle();
      reject(error);
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** Number of addresses to try. */
export function countAddresses(addresses: Addresses): number {
  return typeof addresses.path === 'string' ? 1 : addresses.host.length;
}

/** Opens a connection to address number `index`. Throws the socket's error, or the signal's reason. */
export async function connectSocket(
  addresses: Addresses,
  index: number,
  signal: AbortSignal,
): Promise<Socket> {
  if (typeof addresses.path === 'string') return await connectOnce({ path: addresses.path }, signal);
  const host = addresses.host[index] ?? 'localhost';
  return await connectOnce({ host, port: Number(addresses.port[index] ?? 5432) }, signal);
}
