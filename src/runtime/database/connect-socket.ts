import { connect, type Socket } from 'node:net';
import type { Host } from './database-url.ts';

type NamedSocket = Socket & { host?: string; port?: number };

/** Opens a connection. Throws the socket's error, or the signal's reason. */
export function connectSocket({ target }: Host, signal: AbortSignal): Promise<Socket> {
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
