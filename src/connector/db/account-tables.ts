import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, smallint, text, unique } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * A credential of the service: an API key, or a grant of an OAuth app. `sealed_credential` is always encrypted.
 */
export const accounts = connectorSchema.table(
  'accounts',
  {
    id: text('id').primaryKey(),
    kind: text('kind').$type<'api_key' | 'oauth'>().notNull(),
    /** The CRM's own name for it. */
    label: text('label'),
    /** The CRM's own id for it, as given when the consent was started. */
    reference: text('reference'),
    /** Null: it only receives webhooks and never calls the service. */
    baseUrl: text('base_url'),
    /**
     * The network of its service when the API added it: calls for it are limited to that network. Null: its
     * service is the one in the settings.
     */
    network: text('network').$type<'public' | 'private'>(),
    /** Null: it is a grant, whose tokens are in a different table, or it never calls the service. */
    sealedCredential: text('sealed_credential'),
    /**
     * SHA-256 of an API key. Needed because the sealed values of one key differ, and one key must not have two
     * accounts.
     */
    credentialDigest: text('credential_digest').unique(),
    /** Changes with the API key or the consent, so that a refused credential is not tried again until then. */
    credentialVersion: bigint('credential_version', { mode: 'number' }).notNull().default(1),
    subscriptionId: text('subscription_id').notNull(),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [index('accounts_subscription').on(table.subscriptionId)],
);

/**
 * A webhook path with its signing secret. Each API-key account has its own; the grants of an OAuth app share
 * one. `secret_version` increases with each stored secret.
 */
export const subscriptions = connectorSchema.table('subscriptions', {
  id: text('id').primaryKey(),
  /** The account whose events arrive here; null if the grants of an OAuth app share it. */
  accountId: text('account_id'),
  sealedSecret: text('sealed_secret'),
  /** The last secret in the settings: a different one there replaces the stored secret. */
  sealedConfiguredSecret: text('sealed_configured_secret'),
  /** SHA-256 of the settings of the OAuth app that the service accepted last; null if it is not the one of an app. */
  acceptedApp: text('accepted_app'),
  secretVersion: bigint('secret_version', { mode: 'number' }).notNull().default(0),
  sealedPreviousSecret: text('sealed_previous_secret'),
  /** The previous secret is valid for timestamps up to this one … */
  previousMaxTimestamp: epochMs('previous_max_timestamp'),
  /** … and on our clock until then. */
  previousAcceptUntil: epochMs('previous_accept_until'),
  /** Set before a call that replaces the secret, cleared with the new secret. */
  rotationPendingOwner: text('rotation_pending_owner'),
  rotationPendingAt: epochMs('rotation_pending_at'),
  /**
   * No call that may invalidate the secret is made before then; what is signed later is in doubt until the
   * replacement ends.
   */
  rotationCallAt: epochMs('rotation_call_at'),
  /** The replaced secret is known to others, so it is no longer accepted at all. */
  rotationCompromised: boolean('rotation_compromised').notNull().default(false),
  registeredUrl: text('registered_url'),
  registeredAt: epochMs('registered_at'),
  /** When the webhook is to be checked and registered; null: not until a secret is in doubt. */
  registerDueAt: epochMs('register_due_at'),
  /** Failed attempts in a row. */
  registerFailures: integer('register_failures').notNull().default(0),
});

/**
 * The connector's copy of the service's connections. A row belongs to one account. `version` increases with
 * each change, so that a poll does not overwrite a newer event.
 */
export const connections = connectorSchema.table(
  'connections',
  {
    connectionId: text('connection_id').primaryKey(),
    accountId: text('account_id').notNull(),
    /**
     * When an account first listed it. Null: known only from an event, or its account was removed; the account that
     * lists it takes it over.
     */
    listedAt: epochMs('listed_at'),
    /** Service time at its first listing: what polling finds of earlier messages is history. */
    historyUntil: epochMs('history_until'),
    /** Earlier messages are not stored if polling finds them. Null: there is no limit. */
    historyFrom: epochMs('history_from'),
    phoneNumber: text('phone_number'),
    label: text('label'),
    provider: text('provider'),
    tier: text('tier'),
    status: text('status'),
    needsReconnect: boolean('needs_reconnect'),
    licenseValid: boolean('license_valid'),
    licenseStatus: text('license_status'),
    licenseExpires: epochMs('license_expires'),
    /** Advisory, from the last disconnect. */
    reason: text('reason'),
    isDefault: boolean('is_default'),
    profilePicUrl: text('profile_pic_url'),
    /** The CRM's own record. */
    customerRef: text('customer_ref'),
    visible: boolean('visible').notNull().default(true),
    lastVisibleAt: epochMs('last_visible_at'),
    /** When it was deleted, or the service no longer had it. Cleared if a listing contains it again. */
    deletedAt: epochMs('deleted_at'),
    /** Payload time of the last connection event that was applied, and its rank among events of the same time. */
    lastEventAt: epochMs('last_event_at'),
    lastEventRank: smallint('last_event_rank'),
    /** When a webhook last delivered an event of it that was applied, on our clock. */
    webhookAt: epochMs('webhook_at'),
    version: bigint('version', { mode: 'number' }).notNull().default(1),
    updatedAt: epochMs('updated_at').notNull(),
  },
  (table) => [
    index('connections_account').on(table.accountId),
    /** Rows that no account has listed yet: every poll reads them. */
    index('connections_unlisted').on(table.connectionId).where(sql`${table.listedAt} is null`),
  ],
);

/** The last response of `GET /account` for an account. */
export const quotas = connectorSchema.table('quotas', {
  accountId: text('account_id').primaryKey(),
  slotsTotal: integer('slots_total').notNull(),
  slotsUsed: integer('slots_used').notNull(),
  slotsAvailable: integer('slots_available').notNull(),
  /** The earliest end of a license; null while no number has paired. */
  nextExpiry: epochMs('next_expiry'),
  connectionsTotal: integer('connections_total').notNull(),
  connectionsConnected: integer('connections_connected').notNull(),
  connectionsNeedReconnect: integer('connections_need_reconnect').notNull(),
  /** On our clock. */
  readAt: epochMs('read_at').notNull(),
});

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
  /** On our clock. */
  accessExpiresAt: epochMs('access_expires_at').notNull(),
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

/**
 * Requests of the CRM to create a connection, committed before the service is called. The connection was
 * created if `connection_id` is set; otherwise it is in doubt while `unsettled` is above 0; otherwise nothing
 * was created.
 */
export const creations = connectorSchema.table(
  'creations',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** The CRM's own key; null if it gave none. */
    requestKey: text('request_key'),
    label: text('label'),
    /** The key that is sent to the service. */
    idempotencyKey: text('idempotency_key').notNull(),
    /** With this idempotency key. */
    firstAttemptAt: epochMs('first_attempt_at'),
    /** Attempts that may have created the connection: started, and not ended with a refusal. */
    unsettled: integer('unsettled').notNull().default(0),
    connectionId: text('connection_id'),
    /** Free slots before it was created; null if unknown. */
    slotsAvailable: integer('slots_available'),
    lastError: text('last_error'),
    /** When it is attempted again automatically; null for never. */
    nextAttemptAt: epochMs('next_attempt_at'),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    unique('creations_request').on(table.accountId, table.requestKey),
    index('creations_due').on(table.nextAttemptAt).where(sql`${table.nextAttemptAt} is not null`),
  ],
);
