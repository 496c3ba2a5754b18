import type { IncomingMessage } from 'node:http';
import type { Deadline } from '../../runtime/clock/deadline.ts';
import { discardBody, freeBytes } from '../../runtime/http-server/discard-body.ts';

/** A body as it came in, or why there is none. */
export type RawBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'aborted' };

/** What a piece of a body takes beside its bytes: a sender may make pieces of one byte. */
const PIECE_BYTES = 200;

/**
 * Reads the bytes of a request, whatever its content type and encoding say, and inflates nothing. Beyond `limit`
 * bytes, or when the deadline passes, everything read so far is let go, and what still comes is discarded. `onBytes`
 * hears what each piece takes of the memory as it comes. Never rejects.
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
    // Without a listener a connection that breaks would end the process.
    request.on('error', () => undefined);
    deadline.onPass(() => finish({ kind: 'too_slow' }));
  });
}
