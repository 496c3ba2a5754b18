import { bigint, index, integer, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * The tokens of an account of kind `oauth`. `version` increases with each pair of tokens. A refresh names the
 * version that it replaces, so that an old token is never used twice. All tokens are encrypted.
 */
export const oauthGrants = connectorSchema.table('oauth_grants', {
  accountId: text('account_id').primaryKey(),
  /** The granted scopes, separated by spaces; null if the server did not report them. */
  scope: text('scope'),
  version: bigint('version', { mode: 'number' }).notNull().default(1),
  sealedAccessToken: text('sealed_access_token').notNull(),
  /** Null: the server issued none, so the grant ends with its access token. */
  sealedRefreshToken: text('sealed_refresh_token'),
  /** On our clock; null if the server did not report it. */
  accessExpiresAt: epochMs('access_expires_at'),
  refreshedAt: epochMs('refreshed_at').notNull(),
  /** Set before a refresh is sent, cleared with its outcome. It expires if its process dies. */
  refreshOwner: text('refresh_owner'),
  refreshUntil: epochMs('refresh_until'),
  /** Consecutive failed refreshes that say nothing about the grant. */
  failures: integer('failures').notNull().default(0),
  lastErrorCode: text('last_error_code'),
  /** No refresh is sent before then. */
  notBefore: epochMs('not_before'),
  /** The server refuses the refresh token: only a new consent helps. */
  endedAt: epochMs('ended_at'),
  endedReason: text('ended_reason'),
});

/**
 * Consents in progress. `state`, start token and cookie are secrets of one consent, so the row contains only
 * their hashes.
 */
export const oauthFlows = connectorSchema.table(
  'oauth_flows',
  {
    /** SHA-256 of the `state`. */
    id: text('id').primaryKey(),
    /** SHA-256 of the token in its start address; null if a version without start tokens created it. */
    startId: text('start_id').unique(),
    /** SHA-256 of the cookie of the browser that has it; null if nobody has continued from its start page. */
    browser: text('browser'),
    /** The account that receives the grant; null for a new one, whose id is stored here once it exists. */
    accountId: text('account_id'),
    label: text('label'),
    /** The CRM's own id of the account. */
    reference: text('reference'),
    /** Where the browser goes afterwards; null: it stays on a page of the connector. */
    returnUrl: text('return_url'),
    sealedVerifier: text('sealed_verifier').notNull(),
    /** Where the service asks for the consent; null if there is no start token. Contains the `state`. */
    sealedAuthorizationUrl: text('sealed_authorization_url'),
    createdAt: epochMs('created_at').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    /** Set before its code is redeemed. */
    usedAt: epochMs('used_at'),
    /**
     * The outcome: `connected`, or the code of the failure. Null although it was used: a process died while
     * using it.
     */
    outcome: text('outcome'),
  },
  (table) => [index('oauth_flows_expires').on(table.expiresAt)],
);
