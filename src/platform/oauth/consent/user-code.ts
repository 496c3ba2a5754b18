import { randomInt } from 'node:crypto';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';

const { letters, length } = ASSUMPTIONS.oauthUserCode.value;
const HALF = length / 2;

function inGroups(code: string): string {
  return `${code.slice(0, HALF)}-${code.slice(HALF)}`;
}

/** A new user code: letters in two groups. */
export function newUserCode(): string {
  return inGroups(Array.from({ length }, () => letters.charAt(randomInt(letters.length))).join(''));
}

/** Normalizes a typed code, whatever its case and separators. */
export function normalizeUserCode(typed: string): string {
  return inGroups(typed.toUpperCase().replace(/[\s-]/g, ''));
}
