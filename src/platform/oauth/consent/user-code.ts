import { createHmac } from 'node:crypto';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';

const { letters, length } = ASSUMPTIONS.oauthUserCode.value;
const HALF = length / 2;

/**
 * The user code of a consent: letters in two groups. It is derived, so that the page can show it again although only
 * its hash is stored.
 */
export function userCodeOf(key: Uint8Array, consentId: string): string {
  let rest = createHmac('sha256', key).update(`user code ${consentId}`).digest().readBigUInt64BE();
  let code = '';
  for (let place = 0; place < length; place += 1) {
    code += letters.charAt(Number(rest % BigInt(letters.length)));
    rest /= BigInt(letters.length);
  }
  return `${code.slice(0, HALF)}-${code.slice(HALF)}`;
}

/** Normalizes a typed code, whatever its case and separators. */
export function normalizeUserCode(typed: string): string {
  const plain = typed.toUpperCase().replace(/[\s-]/g, '');
  return `${plain.slice(0, HALF)}-${plain.slice(HALF)}`;
}
