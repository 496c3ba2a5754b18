import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { PlatformError } from '../platform-error.ts';
import type { Credential } from './credential.ts';
import { hashKey } from './hash-key.ts';

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;

interface KeyRow {
  id: string;
  workspace_id: string;
  kind: WorkspaceKind;
  scopes: Scope[];
  connection_ids: string[] | null;
  ip_allowlist: string[] | null;
}

/**
 * Finds the credential behind `Authorization`, given as all values of the header. It is read from the
 * database on each request, so that revocation and narrowing act on the next call. Throws `invalid_key` for
 * no credential, several, or one that is unknown or revoked. Implements `API keys`.
 */
export async function resolveCredential(
  db: Queryable,
  authorization: readonly string[] | undefined,
): Promise<Credential> {
  const [header = '', second] = authorization ?? [];
  const token = second === undefined ? BEARER.exec(header)?.[1] : undefined;
  if (token === undefined) throw new PlatformError('invalid_key');
  const [row] = await db.query<KeyRow>(
    `SELECT k.id, k.workspace_id, w.kind, k.scopes, k.connection_ids, k.ip_allowlist
     FROM platform.api_keys k JOIN platform.workspaces w ON w.id = k.workspace_id
     WHERE k.hash = $1 AND k.revoked_at IS NULL`,
    [hashKey(token)],
  );
  if (row === undefined) throw new PlatformError('invalid_key');
  return {
    kind: 'api_key',
    id: row.id,
    workspaceId: row.workspace_id,
    workspaceKind: row.kind,
    scopes: row.scopes,
    connectionIds: row.connection_ids,
    ipAllowlist: row.ip_allowlist,
  };
}
