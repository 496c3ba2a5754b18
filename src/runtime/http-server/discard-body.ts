import type { IncomingMessage } from 'node:http';

/**
 * Gives back the memory of bytes that nobody needs any more, and leaves them empty. The collector would do it when
 * 64 MiB or more of such memory have piled up, and not at all while a process has nothing to do. Bytes that share
 * their memory with others stay as they are.
 */
export function freeBytes({ buffer, byteLength }: Buffer): void {
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isOwn && !buffer.detached) buffer.transfer(0);
}

/** Reads what still comes of a body and drops it at once. Whoever else has read it is told of nothing more. */
export function discardBody(request: IncomingMessage): void {
  request.removeAllListeners('data').on('data', freeBytes).resume();
}
