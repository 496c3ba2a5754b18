import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { accountId, listOf } from './lists.ts';

export const ACCOUNT_KINDS = ['api_key', 'oauth'] as const;
const accountKind = z.enum(ACCOUNT_KINDS);
export type AccountKind = z.infer<typeof accountKind>;

/**
 * `active`; `webhook_only` (no credential, only receives); `credential_refused` (waits for another key);
 * `reauth_required` (waits for a new consent).
 */
export const ACCOUNT_STATES = ['active', 'webhook_only', 'credential_refused', 'reauth_required'] as const;
const accountState = z.enum(ACCOUNT_STATES);
export type AccountState = z.infer<typeof accountState>;

const count = z.int().min(0);

/** What the service's `GET /account` told last. */
const accountQuota = z.object({
  readAt: dateTime,
  slots: z.object({
    total: count,
    used: count,
    available: count,
    nextExpiry: dateTime.nullable().describe('Renew before this date; null while no number has paired.'),
  }),
  connections: z.object({ total: count, connected: count, needsReconnect: count }),
});

/** A valid licence that ends within seven days. */
const endingLicense = z.object({ connectionId: identifier, licenseExpires: dateTime });

/** A grant that has ended. Polls and sends of its account wait. */
const reauth = z.object({
  since: dateTime,
  reason: z.string().describe('Code of the authorization server.'),
  startAt: z
    .string()
    .describe('Where `{"accountId": …}` is posted to: the answer has the address for the customer.'),
});

/** A credential of a service that this connector integrates. The credential itself is never shown. */
export const connectorAccount = z.object({
  id: accountId,
  kind: accountKind,
  label: z.string().nullable().describe("The CRM's own name of it."),
  baseUrl: z.string().nullable().describe('`{base_url}` of the service; null when it is never called.'),
  state: accountState,
  reauth: reauth.nullable().describe('Why and since when the customer must consent again; null: need not.'),
  subscriptionId: identifier,
  webhookPath: z.string().describe('Path of its webhook at this connector.'),
  webhookUrl: z
    .string()
    .nullable()
    .describe('Registered at the service by this connector; null: none, as for every grant of an OAuth app.'),
  webhookRegisteredAt: dateTime.nullable(),
  secretInDoubt: z
    .boolean()
    .describe('Its signing secret is being replaced, and nobody knows yet which holds.'),
  quota: accountQuota.nullable().describe('Null until it was read; read every few minutes.'),
  endingLicenses: z.array(endingLicense).describe('The soonest first, 100 at most.'),
  createdAt: dateTime,
});
export type ConnectorAccount = z.infer<typeof connectorAccount>;

export const connectorAccountList = listOf('accounts', connectorAccount);
export type ConnectorAccountList = z.infer<typeof connectorAccountList>;

/** Body of `POST /v1/accounts`. */
export const addAccountRequest = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^[^@?#]*$/, 'must hold no credentials, query or fragment'),
  apiKey: z
    .string()
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces'),
});
export type AddAccountRequest = z.infer<typeof addAccountRequest>;

/** An id as it may stand in a list that blanks separate. */
const listedId = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces');

/** Body of `POST /v1/accounts/oauth`; absent fields leave the choice to the consent page. */
export const startGrantRequest = z.strictObject({
  accountId: accountId
    .optional()
    .describe('An account that gets a new grant in place of its own; absent: a new account.'),
  label: z.string().min(1).max(200).optional().describe("The CRM's own name of the account."),
  scopes: z.array(scope).min(1).optional(),
  connectionIds: z.array(listedId).min(1).max(500).optional(),
  returnUrl: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^https?:\/\/[^/?#@]+([/?][^#]*)?$/i, 'must hold no credentials and no fragment')
    .optional()
    .describe(
      "Where the customer's browser goes afterwards, with `outcome` (`connected`, or why not) and `accountId` in its query; absent: it stays on a page of the connector.",
    ),
});
export type StartGrantRequest = z.infer<typeof startGrantRequest>;

/** Answer of `POST /v1/accounts/oauth`: where the customer's browser goes. */
export const startedGrant = z.object({
  authorizationUrl: z.url().describe('For one use, by the customer. Treat it as a secret until then.'),
  expiresAt: dateTime.describe('The consent must be finished before.'),
  accountId: accountId.nullable().describe('The account that gets the grant; null: a new one.'),
});
export type StartedGrant = z.infer<typeof startedGrant>;

/** Body of `POST /v1/webhook/rotate`; `compromised` ends the old secret at once. */
export const rotateSecretRequest = z.strictObject({
  compromised: z.boolean().optional(),
  accountId: accountId.optional(),
});
export type RotateSecretRequest = z.infer<typeof rotateSecretRequest>;

/** Answer of `POST /v1/webhook/rotate`. */
export const rotatedSecret = z.object({
  rotatedAt: dateTime,
  previousAcceptedUntil: dateTime.nullable().describe('Until then deliveries signed before are taken.'),
});
export type RotatedSecret = z.infer<typeof rotatedSecret>;
