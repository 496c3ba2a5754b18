import { randomBytes } from 'node:crypto';
import { equalSecrets } from '../../../runtime/sealing/equal-secrets.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import type { PairingCode } from './pairing-sessions.ts';

/** The 32 digits and capitals that people do not confuse, 5 bits each. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;
const GROUP = 4;

/** A new code for a number. [connections.pairing-code.again] */
export function newPairingCode(phoneNumber: string, now: number): PairingCode {
  const characters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length));
  return {
    code: characters.join(''),
    phoneNumber,
    expiresAt: now + ASSUMPTIONS.pairingCodeLifetimeMs.value,
  };
}

/** Formats a code: two groups of four, joined by a hyphen. [shapes.pairing-code] */
export function shownCode({ code }: PairingCode): string {
  return `${code.slice(0, GROUP)}-${code.slice(GROUP)}`;
}

/** Normalizes a typed code: capitals, without the hyphen. */
export function bareCode(typed: string): string {
  return typed.replace(/[\s-]/g, '').toUpperCase();
}

/** Whether the typed code matches and has not expired at a virtual time. */
export function isGoodCode(code: PairingCode, bare: string, now: number): boolean {
  return now < code.expiresAt && equalSecrets(code.code, bare);
}
