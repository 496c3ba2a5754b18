import { bigint, index, integer, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/**
 * The tokens of an account of kind `oauth`. `version` rises with each pair, and whoever refreshes names the
 * version that it refreshes, so that one old token is never used twice. No token is stored plain.
 */
export const oauthGrants = connectorSchema.table('oauth_grants', {
  accountId: text('account_id').primaryKey(),
  /** What was granted, separated by blanks; null: the server did not say. */
  scope: text('scope'),
  version: bigint('version', { mode: 'number' }).notNull().default(1),
  sealedAccessToken: text('sealed_access_token').notNull(),
  /** Null: the server gave none, so the grant ends with its access token. */
  sealedRefreshToken: text('sealed_refresh_token'),
  /** On our clock; null: the server did not say. */
  accessExpiresAt: epochMs('access_expires_at'),
  refreshedAt: epochMs('refreshed_at').notNull(),
  /** Set before a refresh goes out, cleared with its outcome. It runs out when its process dies. */
  refreshOwner: text('refresh_owner'),
  refreshUntil: epochMs('refresh_until'),
  /** Refreshes in a row that failed and say nothing of the grant. */
  failures: integer('failures').notNull().default(0),
  lastErrorCode: text('last_error_code'),
  /** No refresh goes out before then. */
  notBefore: epochMs('not_before'),
  /** The server refuses the refresh token: only a new consent helps. */
  endedAt: epochMs('ended_at'),
  endedReason: text('ended_reason'),
});

/**
 * Consents that were begun. `state`, start token and cookie are passwords of one flow, so the row has their hashes
 * alone.
 */
export const oauthFlows = connectorSchema.table(
  'oauth_flows',
  {
    /** SHA-256 of the `state`. */
    id: text('id').primaryKey(),
    /** SHA-256 of the token in its start address; null: begun by a version that had none. */
    startId: text('start_id').unique(),
    /** SHA-256 of the cookie of the browser that has it; null: nobody has gone on from its start page. */
    browser: text('browser'),
    /** The account that gets the grant; null: a new one is made, whose id is noted here once it is. */
    accountId: text('account_id'),
    label: text('label'),
    /** The CRM's own id of the account. */
    reference: text('reference'),
    /** Where the browser goes afterwards; null: it stays on a page of ours. */
    returnUrl: text('return_url'),
    sealedVerifier: text('sealed_verifier').notNull(),
    /** Where the service asks for the consent; null with the start token. It holds the `state`. */
    sealedAuthorizationUrl: text('sealed_authorization_url'),
    createdAt: epochMs('created_at').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    /** Set before its code is redeemed. */
    usedAt: epochMs('used_at'),
    /** What became of it: `connected`, or the code of the failure. Null after a use: a process died over it. */
    outcome: text('outcome'),
  },
  (table) => [index('oauth_flows_expires').on(table.expiresAt)],
);
