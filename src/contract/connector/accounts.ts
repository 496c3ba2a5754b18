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

/** A credential of a service that this connector integrates. The credential itself is never shown. */
export const connectorAccount = z.object({
  id: accountId,
  kind: accountKind,
  baseUrl: z.string().nullable().describe('`{base_url}` of the service; null when it is never called.'),
  state: accountState,
  subscriptionId: identifier,
  webhookPath: z.string().describe('Path of its webhook at this connector.'),
  webhookUrl: z.string().nullable().describe('Registered at the service; null: none by this connector.'),
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

/** Body of `POST /v1/accounts/oauth`; absent fields leave the choice to the consent page. */
export const startGrantRequest = z.strictObject({
  scopes: z.array(scope).min(1).optional(),
  connectionIds: z.array(z.string().min(1).max(255)).min(1).optional(),
});
export type StartGrantRequest = z.infer<typeof startGrantRequest>;

/** Answer of `POST /v1/accounts/oauth`: where the customer's browser goes. */
export const startedGrant = z.object({ authorizationUrl: z.url() });
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
