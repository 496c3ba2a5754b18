import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';

/** A body as it came in, or why there is none. */
export type RawBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'aborted' };

/**
 * Reads the bytes of a request, whatever its content type and encoding say, and inflates nothing. A declared
 * length over `limit` is refused before anything is read, an undeclared one as soon as it passes the limit;
 * what still comes is discarded. Never rejects.
 */
export async function readRawBody(request: IncomingMessage, limit: number): Promise<RawBody> {
  const declared = request.headers['content-length'];
  if (declared !== undefined && Number(declared) > limit) {
    request.resume();
    return { kind: 'too_large' };
  }
  try {
    return { kind: 'read', bytes: await getRawBody(request, { limit, length: declared ?? null }) };
  } catch (error) {
    if (request.destroyed || !isTooLarge(error)) return { kind: 'aborted' };
    request.resume();
    return { kind: 'too_large' };
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'entity.too.large';
}
