import { timingSafeEqual } from 'node:crypto';
import { digest } from './digest.ts';

/**
 * Compares two secrets in constant time. Both are hashed first, so that the time taken reveals neither the
 * content nor the length of the expected one.
 */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));
}
