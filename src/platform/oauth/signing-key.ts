import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { oauthSigningKeys } from '../db/oauth-tables.ts';

/** The only algorithm. A token with another one in its header is refused. */
export const SIGNING_ALGORITHM = 'ES256';

/** The key that signs access tokens. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  /** The key as it is in the JWKS. */
  readonly publicJwk: JWK;
}

/** A key as it is stored. */
type StoredKey = typeof oauthSigningKeys.$inferSelect;

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error('the signing key in the database is not a key pair');
  return key;
}

/** A new key pair, named after its public part (RFC 7638). */
async function makeKey(): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(jwk), privateJwk: JSON.stringify(jwk) };
}

/** Loads the key. The first start on a database creates it. Throws if the stored one is not a private key. */
export async function loadSigningKey(db: Queryable): Promise<SigningKey> {
  const [stored] = await orm(db).select().from(oauthSigningKeys);
  const { kid, privateJwk } = stored ?? (await makeKey());
  if (stored === undefined) await orm(db).insert(oauthSigningKeys).values({ kid, privateJwk });
  const { d, ...publicPart }: JWK = JSON.parse(privateJwk);
  if (d === undefined) throw new Error('the signing key in the database has no private part');
  const publicJwk: JWK = { ...publicPart, kid, alg: SIGNING_ALGORITHM, use: 'sig' };
  return {
    kid,
    privateKey: await importKey({ ...publicPart, d }),
    publicKey: await importKey(publicJwk),
    publicJwk,
  };
}
