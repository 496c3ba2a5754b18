import type { IncomingMessage } from 'node:http';
import { HEADERS } from '../../contract/service/headers.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import { PlatformError } from '../kernel/platform-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Header bytes arrive as one character each. What is no UTF-8 stays as it is. */
function decode(value: string): string {
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/**
 * The key of a create; null without one, a blank one being none. Throws `idempotency_key_invalid` for more
 * than 255 characters, counted in code points, and `invalid_request` for several headers, of which none would
 * be the right one. Implements `Rules per endpoint`, 2, idempotency 5.
 */
export function readIdempotencyKey({ headersDistinct }: IncomingMessage): string | null {
  const field = HEADERS.idempotencyKey;
  const [value, second] = headersDistinct[field.toLowerCase()] ?? [];
  if (second !== undefined) throw new PlatformError('invalid_request', { field, hint: 'given twice' });
  const key = decode(value ?? '');
  if (key.trim() === '') return null;
  const { length } = [...key];
  if (length > LIMITS.idempotencyKeyCharacters) {
    throw new PlatformError('idempotency_key_invalid', { why: `the key has ${length} characters` });
  }
  return key;
}
