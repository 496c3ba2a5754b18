import { and, eq, isNotNull } from 'drizzle-orm';
import type { Scope } from '../../../contract/service/scopes.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../../runtime/database/orm.ts';
import { connections } from '../../db/core-tables.ts';
import { oauthApps, oauthCodes, oauthGrants } from '../../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { newIdentifier } from '../../kernel/identifiers.ts';
import { hashSecret, newSecret } from '../../kernel/secrets.ts';
import type { StateChange } from '../../time/state-change.ts';
import { OauthError } from '../oauth-error.ts';
import type { AuthorizationRequest } from './read-request.ts';

/** The approved part of a request. */
export interface Consent {
  readonly workspaceId: string;
  readonly scopes: readonly Scope[];
  /** Connections of other workspaces are ignored. */
  readonly connectionIds: readonly string[];
}

/** The connections of a workspace that a request may be granted, oldest first. */
export async function readGrantable(
  db: Queryable,
  workspaceId: string,
  { connectionIds }: Pick<AuthorizationRequest, 'connectionIds'>,
): Promise<{ readonly id: string; readonly label: string; readonly phoneNumber: string | null }[]> {
  const { id, label, phoneNumber, position } = connections;
  return await orm(db)
    .select({ id, label, phoneNumber })
    .from(connections)
    .where(
      and(
        eq(connections.workspaceId, workspaceId),
        connectionIds === null ? undefined : isAnyOf(id, connectionIds),
      ),
    )
    .orderBy(position);
}

/**
 * Creates the grant and its code, and returns the code. Throws `access_denied` if no connection or scope remains, or
 * if the app was disabled. Implements `OAuth 2.0`.
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
  const code = newSecret('code');
  // [events.oauth.legacy]
  // Only the first consent of a workspace to a legacy app is limited; a later one covers all events.
  const [app] = await orm(tx)
    .select({ legacy: oauthApps.legacySubscription })
    .from(oauthApps)
    .where(and(eq(oauthApps.id, request.appId), oauthApps.enabled));
  if (app === undefined) throw new OauthError('access_denied', 'the app was disabled');
  const { appId, expiresAt } = oauthGrants;
  const earlier = and(
    eq(appId, request.appId),
    eq(oauthGrants.workspaceId, workspaceId),
    isNotNull(expiresAt),
  );
  await orm(tx)
    .insert(oauthGrants)
    .values({
      id: grantId,
      appId: request.appId,
      workspaceId,
      scopes: allowed,
      connectionIds: granted,
      resource: request.resource,
      legacy: app.legacy && (await orm(tx).$count(oauthGrants, earlier)) === 0,
      refreshes: 0,
      createdAt: now,
    });
  await orm(tx)
    .insert(oauthCodes)
    .values({
      hash: hashSecret(code),
      grantId,
      redirectUri: request.redirectUri,
      challenge: request.challenge,
      expiresAt: now + ASSUMPTIONS.oauthCodeLifetimeMs.value,
    });
  return code;
}
