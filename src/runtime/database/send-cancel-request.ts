import type { Socket } from 'node:net';
import { type Addresses, connectSocket } from './connect-socket.ts';

const CANCEL_REQUEST_CODE = 80_877_102;

/** What the server gave the session to be cancelled with. */
export interface BackendKey {
  readonly pid: number;
  readonly secret: number;
}

/**
 * Asks the server to cancel what the backend is doing, over a connection of its own, as the protocol wants
 * it. Resolves when the server has taken the request and closed that connection. Best effort, never throws:
 * where it does not get through (no network, a proxy that takes TLS alone) the server's own limits hold.
 */
export async function sendCancelRequest(
  target: { readonly addresses: Addresses; readonly index: number },
  key: BackendKey,
  signal: AbortSignal,
): Promise<void> {
  try {
    const socket = await connectSocket(target.addresses, target.index, signal);
    await deliver(socket, encode(key), signal);
  } catch {
    // The server cannot be reached: there is nobody to tell.
  }
}

function encode(key: BackendKey): Buffer {
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  request.writeUInt32BE(key.pid, 8);
  request.writeUInt32BE(key.secret, 12);
  return request;
}

function deliver(socket: Socket, request: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const abort = (): void => {
      socket.destroy();
    };
    socket.on('error', abort);
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    // Our side stays open: a pooler drops the request of a client that has hung up.
    socket.write(request);
    socket.resume();
  });
}
