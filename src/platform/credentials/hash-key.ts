import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'msk_';
const KEY_BYTES = 32;

/** A new API key. It has 256 random bits, so an unsalted hash is safe to store. */
export function newApiKey(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64url');
}

/** The hash by which a key is stored and looked up. [auth.key.hashed] */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
