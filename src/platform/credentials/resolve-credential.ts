import { eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { apiKeys, workspaces } from '../db/core-tables.ts';
import { passed, recognized } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { hashSecret } from '../kernel/secrets.ts';
import type { Credential } from './credential.ts';
import { type CredentialSources, findGranted } from './find-granted.ts';

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;
/** Three parts: the form of an access token. No API key has it. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** The token of the only `Authorization: Bearer` header. Throws `invalid_key`. [auth.bearer] [endpoints.bearer] */
function readToken([header, second]: readonly string[]): string {
  // [choice.no-credential]
  if (header === undefined) throw new PlatformError('invalid_key', { why: 'no credential was sent' });
  if (second !== undefined) throw new PlatformError('invalid_key', { why: 'two credentials were sent' });
  const token = BEARER.exec(header)?.[1];
  if (token === undefined) throw new PlatformError('invalid_key', { why: 'it is not a bearer token' });
  return token;
}

// [auth.key.live-revoked] [auth.key.live-scopes] [auth.key.live-connections] [auth.key.no-expiry]
async function findKey(db: Queryable, token: string): Promise<Credential> {
  const { id, workspaceId, scopes, connectionIds, ipAllowlist, revokedAt } = apiKeys;
  const [row] = await orm(db)
    .select({
      revokedAt,
      key: { id, workspaceId, workspaceKind: workspaces.kind, scopes, connectionIds, ipAllowlist },
    })
    .from(apiKeys)
    .innerJoin(workspaces, eq(workspaces.id, workspaceId))
    .where(eq(apiKeys.hash, hashSecret(token)));
  // [auth.key.unknown] [errors.invalid_key]
  if (row === undefined) throw new PlatformError('invalid_key', { why: 'no key has this value' });
  recognized(row.key.id, row.key.workspaceId);
  // [auth.key.revoked] [errors.invalid_key]
  if (row.revokedAt !== null) throw new PlatformError('invalid_key', { why: 'the key was revoked' });
  return { kind: 'api_key', ...row.key, subscriptionId: row.key.workspaceId, legacy: false };
}

/**
 * Resolves the credential from all values of the `Authorization` header. It reads the database on each request, so
 * that revocation and narrowing take effect on the next call. Throws `invalid_key` for no credential, several, or an
 * unknown or revoked key, and `invalid_token` for an invalid access token. Implements `Authentication` and
 * `API keys`.
 */
export async function resolveCredential(
  sources: CredentialSources,
  authorization: readonly string[] | undefined,
): Promise<Credential> {
  const token = readToken(authorization ?? []);
  const credential = TOKEN.test(token)
    ? await findGranted(sources, token, 'api')
    : await findKey(sources.database, token);
  passed('credential');
  return credential;
}

/**
 * The same for the tool server, which accepts only access tokens. Throws `invalid_key` for no credential or several,
 * `invalid_token` for anything but a valid access token, including an API key. Implements `Tool server`.
 */
export async function resolveToolCredential(
  sources: CredentialSources,
  authorization: readonly string[] | undefined,
): Promise<Credential> {
  const token = readToken(authorization ?? []);
  if (!TOKEN.test(token)) {
    // [choice.tools.credential]
    throw new PlatformError('invalid_token', { why: 'the tool server accepts only access tokens' });
  }
  const credential = await findGranted(sources, token, 'tools');
  passed('credential');
  return credential;
}
