import { createHash, randomBytes } from 'node:crypto';

const BYTES = 32;

/** Prefixes by purpose, which identify a leaked secret. */
const PREFIXES = { key: 'msk_', client: 'mcs_', code: 'mca_', refresh: 'mcr_', browser: 'mcb_' } as const;

/** A new secret of 256 random bits. */
export function newSecret(purpose: keyof typeof PREFIXES): string {
  return PREFIXES[purpose] + randomBytes(BYTES).toString('base64url');
}

/** The hash by which a secret is stored and looked up. 256 random bits need no salt. [auth.key.hashed] */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
