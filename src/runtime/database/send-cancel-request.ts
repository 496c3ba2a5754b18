import type { Socket } from 'node:net';
import { connectSocket } from './connect-socket.ts';
import type { Host } from './database-url.ts';
import { secureSocket, type Tls } from './tls.ts';

const CANCEL_REQUEST_CODE = 80_877_102;

/** The data that the server gave the session for cancel requests. */
export interface BackendKey {
  readonly pid: number;
  readonly secret: number;
}

/**
 * Asks the server to cancel what the backend is doing, over a separate connection, as the protocol requires,
 * and secured like the session: the secret in it would let others cancel. Resolves when the server has
 * accepted the request and closed that connection. Best effort, never throws: if the request does not arrive,
 * the server's own limits apply.
 */
export async function sendCancelRequest(
  place: { readonly host: Host; readonly tls: Tls },
  key: BackendKey,
  signal: AbortSignal,
): Promise<void> {
  const { host, tls } = place;
  let socket: Socket | undefined;
  const abort = (): void => void socket?.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    socket = await connectSocket(host, signal);
    const name = 'host' in host.target ? host.target.host : undefined;
    await deliver(await secureSocket(socket, name, tls), encode(key), signal);
  } catch {
    // The server cannot be reached, or not securely: the request cannot be sent.
    abort();
  } finally {
    signal.removeEventListener('abort', abort);
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
    // Our side stays open: a pooler drops the request of a client that has disconnected.
    socket.write(request);
    socket.resume();
  });
}
