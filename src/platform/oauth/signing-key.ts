import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { Queryable } from '../../runtime/database/database.ts';

/** The one algorithm. What a token's header names besides it is refused. */
export const SIGNING_ALGORITHM = 'ES256';

/** The key that signs access tokens. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  /** As the JWKS shows it. */
  readonly publicJwk: JWK;
}

interface Row {
  kid: string;
  private_jwk: string;
}

const readRow = 'SELECT kid, private_jwk FROM platform.oauth_signing_keys ORDER BY kid LIMIT 1';

async function importKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error('the signing key in the database is no key pair');
  return key;
}

async function makeRow(): Promise<Row> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { kid: await calculateJwkThumbprint(jwk), private_jwk: JSON.stringify(jwk) };
}

/** Reads the key; the first start on a database makes it. */
export async function loadSigningKey(db: Queryable): Promise<SigningKey> {
  let [row] = await db.query<Row>(readRow);
  if (row === undefined) {
    row = await makeRow();
    await db.query('INSERT INTO platform.oauth_signing_keys (kid, private_jwk) VALUES ($1, $2)', [
      row.kid,
      row.private_jwk,
    ]);
  }
  const { d, ...publicPart }: JWK = JSON.parse(row.private_jwk);
  if (d === undefined) throw new Error('the signing key in the database has no private part');
  const publicJwk: JWK = { ...publicPart, kid: row.kid, alg: SIGNING_ALGORITHM, use: 'sig' };
  return {
    kid: row.kid,
    privateKey: await importKey({ ...publicPart, d }),
    publicKey: await importKey(publicJwk),
    publicJwk,
  };
}
