import { createHash, randomBytes } from 'node:crypto';

const BYTES = 32;

/** What a secret is for; its prefix tells one from another where it leaks. */
const PREFIXES = { client: 'mcs_', code: 'mca_', refresh: 'mcr_', browser: 'mcb_' } as const;

/** A new secret of 256 random bits. */
export function newOauthSecret(purpose: keyof typeof PREFIXES): string {
  return PREFIXES[purpose] + randomBytes(BYTES).toString('base64url');
}

/** What is stored of a secret, and looked up by. 256 random bits need no salt. */
export function hashOauthSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
