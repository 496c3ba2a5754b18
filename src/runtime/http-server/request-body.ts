import type { IncomingMessage } from 'node:http';
import type { Deadline } from '../clock/deadline.ts';

/** Whether a request declares a body of more than `limit` bytes. */
export function declaresMore({ headers }: Pick<IncomingMessage, 'headers'>, limit: number): boolean {
  return Number(headers['content-length'] ?? 0) > limit;
}

/** A received body, or the reason why there is none. */
export type RawBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'aborted' };

/** The memory that a chunk of a body takes besides its bytes: a sender may send chunks of one byte. */
const PIECE_BYTES = 200;

/**
 * Reads the bytes of a request, whatever its content type and encoding say, without decompressing them.
 * Beyond `limit` bytes, or when the deadline passes, everything read so far is released and the rest is
 * discarded. `onBytes` is called with the memory that each chunk takes. Never rejects.
 * [delivery.verify.raw-bytes]
 */
export function readRawBody(
  request: IncomingMessage,
  { limit, deadline, onBytes }: { limit: number; deadline: Deadline; onBytes: (count: number) => void },
): Promise<RawBody> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let length = 0;
    const finish = (body: RawBody): void => {
      request.off('data', take).off('end', end).off('close', abort);
      for (const chunk of chunks) freeBytes(chunk);
      chunks = [];
      discardBody(request);
      resolve(body);
    };
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > limit) finish({ kind: 'too_large' });
      else onBytes(chunk.length + PIECE_BYTES);
    };
    const end = (): void => {
      finish({ kind: 'read', bytes: Buffer.concat(chunks, length) });
    };
    const abort = (): void => finish({ kind: 'aborted' });
    request.on('data', take).once('end', end).once('close', abort);
    // Without a listener, a broken connection would end the process.
    request.on('error', () => undefined);
    deadline.onPass(() => finish({ kind: 'too_slow' }));
  });
}

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
