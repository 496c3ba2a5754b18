import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { boundJson, DenseBody } from '../../runtime/http-server/bound-json.ts';
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
    throw endedEarly(error);
  }
}

/** The refusal of an incomplete body. */
export function endedEarly(cause: unknown): PlatformError {
  return new PlatformError('invalid_request', { field: 'body', hint: 'ended early', cause });
}

/** Parses JSON in UTF-8 of limited structure. Throws `invalid_request`. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    // [choice.body.bounded]
    boundJson(bytes, ASSUMPTIONS.bodyStructure.value);
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    // [choice.body.no-json]
    const hint = error instanceof DenseBody ? error.message : 'must be JSON';
    throw new PlatformError('invalid_request', { field: 'body', hint, cause: error });
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
