import { timingSafeEqual } from 'node:crypto';
import { digest } from './digest.ts';

/**
 * Compares two secrets in constant time. Both are hashed first, so that neither the content nor the length of
 * the expected one shows in the time taken.
 */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));
}
