import { hash } from 'node:crypto';

/**
 * The SHA-256 of a text in UTF-8, as base64url, to be stored or compared instead of the text. If the text is a secret,
 * it must be long and random, so that it cannot be guessed from its hash.
 */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
