import type { Scope } from '../../../contract/service/scopes.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { newIdentifier } from '../../kernel/identifiers.ts';
import type { StateChange } from '../../time/state-change.ts';
import { OauthError } from '../oauth-error.ts';
import { hashOauthSecret, newOauthSecret } from '../oauth-secrets.ts';
import type { AuthorizationRequest } from './read-request.ts';

/** What somebody approves of a request. */
export interface Consent {
  readonly workspaceId: string;
  readonly scopes: readonly Scope[];
  /** What is not in the workspace is left out. */
  readonly connectionIds: readonly string[];
}

/** The connections of a workspace that a request may be granted, oldest first. */
export async function readGrantable(
  db: Queryable,
  workspaceId: string,
  { connectionIds }: Pick<AuthorizationRequest, 'connectionIds'>,
): Promise<{ readonly id: string; readonly label: string; readonly phoneNumber: string | null }[]> {
  const rows = await db.query<{ id: string; label: string; phone_number: string | null }>(
    `SELECT id, label, phone_number FROM platform.connections
     WHERE workspace_id = $1 AND ($2::text[] IS NULL OR id = ANY($2::text[]))
     ORDER BY position`,
    [workspaceId, connectionIds],
  );
  return rows.map(({ id, label, phone_number: phoneNumber }) => ({ id, label, phoneNumber }));
}

/**
 * Makes the grant and its one code; answers the code. Throws `access_denied` when no connection is left: a grant
 * exists over connections that exist; and when the app went meanwhile. Implements `OAuth 2.0`.
 */
export async function giveConsent(
  { tx, now }: StateChange,
  request: AuthorizationRequest,
  { workspaceId, scopes, connectionIds }: Consent,
): Promise<string> {
  const grantable = await readGrantable(tx, workspaceId, request);
  const granted = grantable.filter(({ id }) => connectionIds.includes(id)).map(({ id }) => id);
  const allowed = request.scopes.filter((scope) => scopes.includes(scope));
  // [auth.oauth.needs-connection] [oauth.grant.existing]
  if (granted.length === 0) throw new OauthError('access_denied', 'no connection was approved');
  if (allowed.length === 0) throw new OauthError('access_denied', 'no scope was approved');

  const grantId = newIdentifier();
  const code = newOauthSecret('code');
  // [events.oauth.legacy]
  // Whoever consented before does so again, and leaves the time before the cut-over behind.
  const made = await tx.query(
    `INSERT INTO platform.oauth_grants
       (id, app_id, workspace_id, scopes, connection_ids, resource, legacy, refreshes, created_at)
     SELECT $1, a.id, $3, $4, $5, $6, a.legacy_subscription AND NOT EXISTS (
       SELECT 1 FROM platform.oauth_grants g
       WHERE g.app_id = a.id AND g.workspace_id = $3 AND g.expires_at IS NOT NULL
     ), 0, $7
     FROM platform.oauth_apps a WHERE a.id = $2 AND a.enabled RETURNING id`,
    [grantId, request.appId, workspaceId, allowed, granted, request.resource, now],
  );
  if (made.length === 0) throw new OauthError('access_denied', 'the app is gone or switched off');
  await tx.query(
    `INSERT INTO platform.oauth_codes (hash, grant_id, redirect_uri, challenge, expires_at)
     VALUES ($1, $2, $3, $4, $5)`,
    [
      hashOauthSecret(code),
      grantId,
      request.redirectUri,
      request.challenge,
      now + ASSUMPTIONS.oauthCodeLifetimeMs.value,
    ],
  );
  return code;
}
