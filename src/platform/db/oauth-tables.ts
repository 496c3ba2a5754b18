import { bigint, boolean, index, integer, text } from 'drizzle-orm/pg-core';
import type { Scope } from '../../contract/service/scopes.ts';
import { bytea, workspaces } from './core-tables.ts';
import { epochMs, platformSchema } from './platform-schema.ts';

/** A registered app. Its id is its `client_id`, and the name of its webhook subscription. */
export const oauthApps = platformSchema.table('oauth_apps', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  secretHash: bytea('secret_hash').notNull(),
  /** Compared character by character. */
  redirectUris: text('redirect_uris').array().$type<readonly string[]>().notNull(),
  scopes: text('scopes').array().$type<readonly Scope[]>().notNull(),
  /** The workspace of the developer; null for one that has none here. */
  ownerWorkspaceId: text('owner_workspace_id').references(() => workspaces.id, { onDelete: 'set null' }),
  /** Made before the cut-over: the first consent of each workspace covers `message.received` alone. */
  legacySubscription: boolean('legacy_subscription').notNull(),
  enabled: boolean('enabled').notNull(),
  position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  createdAt: epochMs('created_at').notNull(),
});

/** One consent: what an app may do in a workspace. All that was issued from it ends with it. */
export const oauthGrants = platformSchema.table(
  'oauth_grants',
  {
    id: text('id').primaryKey(),
    appId: text('app_id')
      .notNull()
      .references(() => oauthApps.id, { onDelete: 'cascade' }),
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    scopes: text('scopes').array().$type<readonly Scope[]>().notNull(),
    connectionIds: text('connection_ids').array().$type<readonly string[]>().notNull(),
    /** The one resource that tokens are for; null: all of them. */
    resource: text('resource'),
    /** Covers `message.received` alone. */
    legacy: boolean('legacy').notNull(),
    /** How often its refresh token was replaced. */
    refreshes: integer('refreshes').notNull(),
    /** End of the newest refresh token; null until the code was redeemed. */
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

/** Authorization codes, as hashes. Used ones stay with their grant: a second use is how a theft shows. */
export const oauthCodes = platformSchema.table(
  'oauth_codes',
  {
    hash: bytea('hash').primaryKey(),
    grantId: text('grant_id')
      .notNull()
      .references(() => oauthGrants.id, { onDelete: 'cascade' }),
    redirectUri: text('redirect_uri').notNull(),
    /** S256 of the verifier, base64url. */
    challenge: text('challenge').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    consumedAt: epochMs('consumed_at'),
  },
  (table) => [index('oauth_codes_grant').on(table.grantId)],
);

/** Refresh tokens, as hashes: those of a grant are its family, and one of them at most is unused. */
export const oauthRefreshTokens = platformSchema.table(
  'oauth_refresh_tokens',
  {
    hash: bytea('hash').primaryKey(),
    grantId: text('grant_id')
      .notNull()
      .references(() => oauthGrants.id, { onDelete: 'cascade' }),
    expiresAt: epochMs('expires_at').notNull(),
    consumedAt: epochMs('consumed_at'),
  },
  (table) => [
    index('oauth_refresh_tokens_grant').on(table.grantId),
    index('oauth_refresh_tokens_end').on(table.expiresAt),
  ],
);

/** Requests that somebody is being asked about. A page is tied to its browser by a hash. */
export const oauthConsents = platformSchema.table(
  'oauth_consents',
  {
    id: text('id').primaryKey(),
    appId: text('app_id')
      .notNull()
      .references(() => oauthApps.id, { onDelete: 'cascade' }),
    browserHash: bytea('browser_hash').notNull(),
    /** JSON of the checked request. */
    request: text('request').notNull(),
    /** JSON of what its last form said, when that form did not end it; null: none was sent yet. */
    answer: text('answer'),
    /** Of the code that a portal admin approves it with; null: no portal is asked. */
    userCodeHash: bytea('user_code_hash'),
    /** The portal whose admin has approved it. */
    portalWorkspaceId: text('portal_workspace_id').references(() => workspaces.id, { onDelete: 'cascade' }),
    expiresAt: epochMs('expires_at').notNull(),
    closedAt: epochMs('closed_at'),
    /** Virtual time may stand still; the order of pages does not. */
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  },
  (table) => [
    index('oauth_consents_app').on(table.appId, table.position),
    index('oauth_consents_code').on(table.userCodeHash),
    index('oauth_consents_end').on(table.expiresAt),
  ],
);

/** When the admin of a portal entered wrong user codes lately. */
export const oauthCodeTries = platformSchema.table('oauth_code_tries', {
  workspaceId: text('workspace_id')
    .primaryKey()
    .references(() => workspaces.id, { onDelete: 'cascade' }),
  failedAt: epochMs('failed_at').array().$type<readonly number[]>().notNull(),
});

/**
 * The keys that sign access tokens, as private JWKs. They lie here like the signing secrets of webhooks: whoever
 * reads this database has the service itself. They outlive every reset, so that old tokens stay recognisable.
 */
export const oauthSigningKeys = platformSchema.table('oauth_signing_keys', {
  /** The thumbprint of the public part. */
  kid: text('kid').primaryKey(),
  privateJwk: text('private_jwk').notNull(),
  /** Signs from then on until the next one does; shown in the JWKS before. */
  signsFrom: epochMs('signs_from').notNull(),
});
