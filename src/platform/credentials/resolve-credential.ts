import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { passed, recognized } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Credential } from './credential.ts';
import { type CredentialSources, findGranted } from './find-granted.ts';
import { hashKey } from './hash-key.ts';

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;
/** Three parts: the form of an access token, which no key has. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

interface KeyRow {
  id: string;
  workspace_id: string;
  kind: WorkspaceKind;
  scopes: Scope[];
  connection_ids: string[] | null;
  ip_allowlist: string[] | null;
  revoked_at: number | null;
}

/** The token of the one `Authorization: Bearer`. Throws `invalid_key`. [auth.bearer] [endpoints.bearer] */
function readToken([header, second]: readonly string[]): string {
  // [choice.no-credential]
  if (header === undefined) throw new PlatformError('invalid_key', { why: 'no credential was sent' });
  if (second !== undefined) throw new PlatformError('invalid_key', { why: 'two credentials were sent' });
  const token = BEARER.exec(header)?.[1];
  if (token === undefined) throw new PlatformError('invalid_key', { why: 'it is no bearer token' });
  return token;
}

// [auth.key.live-revoked] [auth.key.live-scopes] [auth.key.live-connections] [auth.key.no-expiry]
async function findKey(db: Queryable, token: string): Promise<Credential> {
  const [row] = await db.query<KeyRow>(
    `SELECT k.id, k.workspace_id, w.kind, k.scopes, k.connection_ids, k.ip_allowlist, k.revoked_at
     FROM platform.api_keys k JOIN platform.workspaces w ON w.id = k.workspace_id
     WHERE k.hash = $1`,
    [hashKey(token)],
  );
  // [auth.key.unknown] [errors.invalid_key]
  if (row === undefined) throw new PlatformError('invalid_key', { why: 'no key has this value' });
  recognized(row.id, row.workspace_id);
  // [auth.key.revoked] [errors.invalid_key]
  if (row.revoked_at !== null) throw new PlatformError('invalid_key', { why: 'the key was revoked' });
  return {
    kind: 'api_key',
    id: row.id,
    workspaceId: row.workspace_id,
    workspaceKind: row.kind,
    scopes: row.scopes,
    connectionIds: row.connection_ids,
    ipAllowlist: row.ip_allowlist,
    subscriptionId: row.workspace_id,
    legacy: false,
  };
}

/**
 * Finds the credential behind `Authorization`, given as all values of the header. It is read from the
 * database on each request, so that revocation and narrowing act on the next call. Throws `invalid_key` for
 * no credential, several, or a key that is unknown or revoked, `invalid_token` for an access token that is not
 * good. Implements `Authentication` and `API keys`.
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
 * The same for the tool server, which takes access tokens alone. Throws `invalid_key` for no credential or
 * several, `invalid_token` for whatever is no good token, an API key included. Implements `Tool server`.
 */
export async function resolveToolCredential(
  sources: CredentialSources,
  authorization: readonly string[] | undefined,
): Promise<Credential> {
  const token = readToken(authorization ?? []);
  if (!TOKEN.test(token)) {
    // [choice.tools.credential]
    throw new PlatformError('invalid_token', { why: 'the tool server takes access tokens alone' });
  }
  const credential = await findGranted(sources, token, 'tools');
  passed('credential');
  return credential;
}
