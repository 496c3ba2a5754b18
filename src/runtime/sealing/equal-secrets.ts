import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Compares two secrets in constant time. Both are hashed first, so that neither the content nor the length of
 * the expected one shows in the time taken.
 */
export function equalSecrets(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(hash(a), hash(b));
}
