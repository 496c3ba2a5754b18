import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'msk_';
const KEY_BYTES = 32;

/** A new API key. 256 random bits, so that a plain hash is enough to store it. */
export function newApiKey(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64url');
}

/** What is stored of a key, and looked up by. [auth.key.hashed] */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
