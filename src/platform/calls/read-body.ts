import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { received } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The bytes of a body, at most `limit`. Throws `payload_too_large`, or `invalid_request` if the body is cut off. */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  try {
    const length = request.headers['content-length'];
    const bytes = await getRawBody(request, length === undefined ? { limit } : { limit, length });
    received(bytes);
    return bytes;
  } catch (error) {
    const type: unknown = error instanceof Error ? Reflect.get(error, 'type') : undefined;
    // [choice.body.too-large]
    if (type === 'entity.too.large') throw new PlatformError('payload_too_large', { cause: error });
    throw new PlatformError('invalid_request', { field: 'body', hint: 'ended early', cause: error });
  }
}

/** Parses JSON in UTF-8. Throws `invalid_request`. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    // [choice.body.no-json]
    throw new PlatformError('invalid_request', { field: 'body', hint: 'must be JSON', cause: error });
  }
}

/** Throws `invalid_request` for a compressed body, whose size after decompression is unknown. */
export function requirePlain({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  throw new PlatformError(ASSUMPTIONS.encodedBody.value, {
    field: 'body',
    hint: 'send it without Content-Encoding',
  });
}

/**
 * Reads a JSON body of at most `limit` bytes, regardless of its content type and charset. No body reads as undefined.
 * Throws `payload_too_large`, or `invalid_request` for bytes that are not JSON in UTF-8.
 */
// [endpoints.json]
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  requirePlain(request);
  const bytes = await readBytes(request, limit);
  return bytes.length === 0 ? undefined : parseJson(bytes);
}
