import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { oauthSigningKeys } from '../db/oauth-tables.ts';

/** The only algorithm. A token with another one in its header is refused. */
export const SIGNING_ALGORITHM = 'ES256';

/** A key that signs access tokens. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly publicJwk: JWK;
  /** Virtual epoch ms from which it signs, until the next key does. */
  readonly signsFrom: number;
}

export type StoredKey = typeof oauthSigningKeys.$inferSelect;

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error('the signing key in the database is not a key pair');
  return key;
}

/** A new key pair, named after its public part (RFC 7638). */
export async function makeSigningKey(signsFrom: number): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(jwk), privateJwk: JSON.stringify(jwk), signsFrom: signsFrom };
}

/** Imports a stored key. Throws if it is not a private key. */
export async function readSigningKey({ kid, privateJwk, signsFrom }: StoredKey): Promise<SigningKey> {
  const { d, ...publicPart }: JWK = JSON.parse(privateJwk);
  if (d === undefined) throw new Error('the signing key in the database has no private part');
  const publicJwk: JWK = { ...publicPart, kid, alg: SIGNING_ALGORITHM, use: 'sig' };
  return {
    kid,
    privateKey: await importKey({ ...publicPart, d }),
    publicKey: await importKey(publicJwk),
    publicJwk,
    signsFrom: signsFrom,
  };
}
