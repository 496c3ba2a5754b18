import type { IncomingMessage } from 'node:http';

/**
 * Releases the memory of bytes that are no longer needed, and leaves them empty. The garbage collector would
 * only do it once 64 MiB or more of such memory has accumulated, and never in an idle process. Bytes that
 * share their memory with others are left unchanged.
 */
export function freeBytes({ buffer, byteLength }: Buffer): void {
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isOwn && !buffer.detached) buffer.transfer(0);
}

/** Reads the rest of a body and discards it. Other readers of the body receive nothing more. */
export function discardBody(request: IncomingMessage): void {
  request.removeAllListeners('data').on('data', freeBytes).resume();
}
