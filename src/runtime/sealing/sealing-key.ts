import { createHash, randomBytes } from 'node:crypto';

/** A key of the ring: its id, which is safe to store next to what it sealed, and its 32 bytes. */
export interface SealingKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

const KEY_BYTES = 32;
const KEY_TEXT = /^[A-Za-z0-9_-]{43}$/;

/** Minimum number of different bytes in a random key. */
const MIN_VARIETY = 8;

/** The command that generates a key. */
export const MAKE_SEALING_KEY = `node -p "require('node:crypto').randomBytes(32).toString('base64url')"`;

/** Generates a sealing key: 32 random bytes as base64url, 43 characters. */
export function generateSealingKey(): string {
  return randomBytes(KEY_BYTES).toString('base64url');
}

/** What is wrong with the text of a key, as a phrase that never contains it; undefined if nothing is. */
export function findKeyProblem(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (!KEY_TEXT.test(text) || bytes.length !== KEY_BYTES || bytes.toString('base64url') !== text) {
    return `not 32 bytes as base64url (43 characters of A-Z, a-z, 0-9, - and _; found ${text.length} characters)`;
  }
  return new Set(bytes).size < MIN_VARIETY ? 'not random, but the same few bytes over and over' : undefined;
}

/**
 * Parses one key. `position` counts from 1 and is the only detail in an error.
 * @throws {TypeError} for anything but 32 random bytes written as base64url.
 */
export function readSealingKey(text: string, position: number): SealingKey {
  const problem = findKeyProblem(text);
  if (problem !== undefined) {
    throw new TypeError(`Sealing key ${position} is ${problem}. Generate one with: ${MAKE_SEALING_KEY}`);
  }
  const bytes = Buffer.from(text, 'base64url');
  const id = createHash('sha256').update('sealing key id').update(bytes).digest('base64url').slice(0, 11);
  return { id, bytes };
}
