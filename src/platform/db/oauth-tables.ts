import { bigint, boolean, index, integer, text } from 'drizzle-orm/pg-core';
import type { Scope } from '../../contract/service/scopes.ts';
import { epochMs, platformSchema } from './column-types.ts';
import { bytea } from './core-tables.ts';

/** A registered app. Its id is its `client_id` and the id of its webhook subscription. */
export const oauthApps = platformSchema.table('oauth_apps', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  secretHash: bytea('secret_hash').notNull(),
  /** Compared character by character. */
  redirectUris: text('redirect_uris').array().$type<readonly string[]>().notNull(),
  scopes: text('scopes').array().$type<readonly Scope[]>().notNull(),
  /** The workspace of the developer; null for a developer without one. */
  ownerWorkspaceId: text('owner_workspace_id'),
  /** Created before the cut-over: the first consent of each workspace covers only `message.received`. */
  legacySubscription: boolean('legacy_subscription').notNull(),
  enabled: boolean('enabled').notNull(),
  position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  createdAt: epochMs('created_at').notNull(),
});

/** One consent: what an app may do in a workspace. Its codes and tokens end with it. */
export const oauthGrants = platformSchema.table(
  'oauth_grants',
  {
    id: text('id').primaryKey(),
    appId: text('app_id').notNull(),
    workspaceId: text('workspace_id').notNull(),
    scopes: text('scopes').array().$type<readonly Scope[]>().notNull(),
    connectionIds: text('connection_ids').array().$type<readonly string[]>().notNull(),
    /** The only resource that its tokens are issued for; null: all resources. */
    resource: text('resource'),
    /** Covers only `message.received`. */
    legacy: boolean('legacy').notNull(),
    /** How often its refresh token was replaced. */
    refreshes: integer('refreshes').notNull(),
    /** Expiry of the newest refresh token; null until the code has been redeemed. */
    expiresAt: epochMs('expires_at'),
    revokedAt: epochMs('revoked_at'),
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    index('oauth_grants_app').on(table.appId, table.workspaceId),
    index('oauth_grants_workspace').on(table.workspaceId),
  ],
);

/** Authorization codes, as hashes. Used codes are kept with their grant, because a second use reveals a theft. */
export const oauthCodes = platformSchema.table('oauth_codes', {
  hash: bytea('hash').primaryKey(),
  grantId: text('grant_id').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  /** S256 of the verifier, base64url. */
  challenge: text('challenge').notNull(),
  expiresAt: epochMs('expires_at').notNull(),
  consumedAt: epochMs('consumed_at'),
});

/** Refresh tokens, as hashes. Those of a grant are a family, of which at most one is unused. */
export const oauthRefreshTokens = platformSchema.table(
  'oauth_refresh_tokens',
  {
    hash: bytea('hash').primaryKey(),
    grantId: text('grant_id').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    consumedAt: epochMs('consumed_at'),
  },
  (table) => [index('oauth_refresh_tokens_grant').on(table.grantId)],
);

/** Authorization requests that wait for consent. A hash binds the page to its browser. */
export const oauthConsents = platformSchema.table(
  'oauth_consents',
  {
    id: text('id').primaryKey(),
    appId: text('app_id').notNull(),
    browserHash: bytea('browser_hash').notNull(),
    /** JSON of the checked request. */
    request: text('request').notNull(),
    /** The code with which a portal admin approves it; null: no portal is asked. */
    userCode: text('user_code'),
    /** The portal whose admin has approved it. */
    portalWorkspaceId: text('portal_workspace_id'),
    expiresAt: epochMs('expires_at').notNull(),
    closedAt: epochMs('closed_at'),
  },
  (table) => [index('oauth_consents_code').on(table.userCode)],
);

/**
 * The key that signs access tokens, as a private JWK. It is not encrypted, like the signing secrets of webhooks: a
 * reader of this database controls the service anyway. A reset keeps it.
 */
export const oauthSigningKeys = platformSchema.table('oauth_signing_keys', {
  /** The thumbprint of the public part. */
  kid: text('kid').primaryKey(),
  privateJwk: text('private_jwk').notNull(),
});
