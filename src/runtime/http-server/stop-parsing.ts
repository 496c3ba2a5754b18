import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A body may arrive in this many pieces of any size, and in one more for each so many bytes. */
const FREE_PIECES = 256;
const BYTES_PER_PIECE = 16;

/** Node's parser calls back with what it finds; the properties of its class name the places of these functions. */
interface Parser extends Record<number, unknown> {
  readonly constructor: Readonly<Record<string, unknown>>;
}
const CALLBACKS = ['kOnHeaders', 'kOnHeadersComplete', 'kOnBody', 'kOnMessageComplete'];

/**
 * Nothing else that a connection sends becomes a chunk or a request. Close it as well. A parser cannot be stopped within
 * the 64 KiB that it was given, and would call back for each of the 10,000 chunks or 2,000 requests in them.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: Parser | null };
  if (!parser) return;
  for (const name of CALLBACKS) {
    const place = Number(parser.constructor[name]);
    const callback = parser[place];
    parser[place] = null;
    // Node gives the parser to another connection.
    socket.once('close', () => {
      parser[place] ??= callback;
    });
  }
}

/** Stops the parsing of a body that arrives in absurdly small pieces, and calls `refuse`. */
export function limitPieces(request: IncomingMessage, refuse: () => void): void {
  const { push } = request;
  let pieces = 0;
  let bytes = 0;
  request.push = (piece: Buffer | null, encoding) => {
    bytes += piece?.length ?? 0;
    pieces += 1;
    if (pieces > FREE_PIECES + bytes / BYTES_PER_PIECE) {
      stopParsing(request.socket);
      refuse();
    }
    return push.call(request, piece, encoding);
  };
}
