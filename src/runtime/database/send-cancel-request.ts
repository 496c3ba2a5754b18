import { type Addresses, connectSocket } from './connect-socket.ts';

const CANCEL_REQUEST_CODE = 80_877_102;

/** What the server gave the session to be cancelled with. */
export interface BackendKey {
  readonly pid: number;
  readonly secret: number;
}

/**
 * Asks the server to cancel what the backend is doing, over a connection of its own, as the protocol wants
 * it. Best effort: never throws; the server's own limits hold where it does not get through (also where a
 * proxy takes TLS alone).
 */
export async function sendCancelRequest(
  target: { readonly addresses: Addresses; readonly index: number },
  key: BackendKey,
  signal: AbortSignal,
): Promise<void> {
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  request.writeUInt32BE(key.pid >>> 0, 8);
  request.writeUInt32BE(key.secret >>> 0, 12);
  try {
    const socket = await connectSocket(target.addresses, target.index, signal);
    socket.on('error', () => undefined);
    const abort = (): void => {
      socket.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', abort));
    socket.end(request);
    socket.resume();
  } catch {
    // The server cannot be reached: there is nobody to tell.
  }
}
