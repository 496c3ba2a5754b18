import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';

const CHANNEL = 'http.server.request.start';

/**
 * The pieces of bodies that HTTP servers of this process read from now on until the test ends, with how long each was
 * on arrival.
 */
export function watchPieces(): readonly { readonly piece: Buffer; readonly length: number }[] {
  const pieces: { piece: Buffer; length: number }[] = [];
  const watch = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    request.push = (piece: Buffer | null, encoding) => {
      if (piece !== null) pieces.push({ piece, length: piece.length });
      return IncomingMessage.prototype.push.call(request, piece, encoding);
    };
  };
  subscribe(CHANNEL, watch);
  onTestFinished(() => void unsubscribe(CHANNEL, watch));
  return pieces;
}
