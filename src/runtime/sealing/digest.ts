import { hash } from 'node:crypto';

/**
 * The SHA-256 of a text in UTF-8, as base64url: what is kept or compared in place of the text itself. Where the text is
 * a secret it must be long and random: then its hash gives nothing away.
 */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
