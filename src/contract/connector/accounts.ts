import { z } from 'zod';
import { account } from '../service/account.ts';
import { dateTime, identifier } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { accountId, chosenAccount, listOf, pageQuery } from './lists.ts';

export const ACCOUNT_KINDS = ['api_key', 'oauth'] as const;
const accountKind = z
  .enum(ACCOUNT_KINDS)
  .describe(
    "`api_key`: an API key of the service. `oauth`: a grant that a customer gave to this connector's OAuth app.",
  );
export type AccountKind = z.infer<typeof accountKind>;

/** Whether the connector calls the service for an account, and why not. */
export const ACCOUNT_STATES = ['active', 'webhook_only', 'credential_refused', 'reauth_required'] as const;
const accountState = z
  .enum(ACCOUNT_STATES)
  .describe(
    '`active`: in use. `webhook_only`: the account has no credential, so it only receives webhooks. `credential_refused`: the service rejects the API key; polls and sends wait for a new key. `reauth_required`: the grant has ended; polls and sends wait for a new consent.',
  );
export type AccountState = z.infer<typeof accountState>;

/** The CRM's own id for an account. Several accounts may share one. */
const accountReference = z
  .string()
  .max(120)
  .regex(/^[\w.:@/%-]+$/, 'may contain only letters, digits and . : @ / % _ -');

/** The most recent answer of the service's `GET /account`. */
const accountQuota = z.object({
  readAt: dateTime.describe('When the service returned these figures.'),
  slots: account.shape.slots,
  connections: account.shape.connections,
});

/** A valid license that expires within seven days. */
const endingLicense = z.object({
  connectionId: identifier.describe('The connection whose license expires.'),
  licenseExpires: dateTime.describe('When the license expires, as the service last reported it.'),
});

/** A grant that has ended. Polls and sends of its account wait for a new consent. */
const reauth = z.object({
  since: dateTime.describe('When the connector detected that the grant had ended.'),
  reason: z.string().describe('Error code from the authorization server, such as `invalid_grant`.'),
  startAt: z
    .string()
    .describe('URL to post `{"accountId": …}` to. The response contains the URL for the customer.'),
});

/** A credential for a service that this connector integrates. The credential itself is never returned. */
export const connectorAccount = z.object({
  id: accountId.describe(
    'Id of the account, assigned by the connector. The account configured in the environment keeps its id when its API key changes.',
  ),
  kind: accountKind,
  label: z
    .string()
    .nullable()
    .describe("The CRM's own name for the account, from `POST /v1/accounts/oauth`; null if none was given."),
  reference: z
    .string()
    .nullable()
    .describe(
      "The CRM's own id for the account, given when its consent was started; null if none was given.",
    ),
  baseUrl: z
    .string()
    .nullable()
    .describe('`{base_url}` of the service; null if the service is never called.'),
  state: accountState,
  reauth: reauth
    .nullable()
    .describe('Why and since when the customer must consent again; null if no new consent is needed.'),
  subscriptionId: identifier.describe(
    'Id of its webhook subscription, as in `webhookPath`. All grants of an OAuth app share one subscription.',
  ),
  webhookPath: z.string().describe('Path of its webhook on this connector.'),
  webhookUrl: z
    .string()
    .nullable()
    .describe(
      'The URL that this connector registered with the service; null if it registered none, as for every grant of an OAuth app.',
    ),
  webhookRegisteredAt: dateTime
    .nullable()
    .describe('When `webhookUrl` was registered; null if `webhookUrl` is null.'),
  secretInDoubt: z
    .boolean()
    .describe(
      'True while the signing secret is being replaced and the connector does not yet know which secret is valid.',
    ),
  quota: accountQuota
    .nullable()
    .describe(
      "The figures of the service's `GET /account`, refreshed every few minutes; null until the first refresh.",
    ),
  endingLicenses: z
    .array(endingLicense)
    .describe('Valid licenses that expire within seven days, soonest first; at most 100.'),
  createdAt: dateTime.describe('When the account was added to the connector.'),
});
export type ConnectorAccount = z.infer<typeof connectorAccount>;

/** Query of `GET /v1/accounts`. */
export const listAccountsQuery = z.strictObject({
  ...pageQuery,
  reference: accountReference.optional().describe('Only accounts with this reference.'),
});

export const connectorAccountList = listOf('accounts', connectorAccount);
export type ConnectorAccountList = z.infer<typeof connectorAccountList>;

/** Body of `POST /v1/accounts`. */
export const addAccountRequest = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^[^@?#]*$/, 'must not contain credentials, a query or a fragment')
    .describe(
      '`{base_url}` of the service, including `/api/v1`. It must use https unless the service is on this machine. The host must be that of `SERVICE_BASE_URL` or one listed in `CONNECTOR_SERVICE_HOSTS`; if neither is set, it must be a public address.',
    ),
  apiKey: z
    .string()
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters and no spaces')
    .describe(
      'An API key of the service. It is tested before it is stored, encrypted at rest, and never returned.',
    ),
});
export type AddAccountRequest = z.infer<typeof addAccountRequest>;

/** An id that may appear in a space-separated list. */
const listedId = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters and no spaces');

/** Body of `POST /v1/accounts/oauth`. For absent fields, the customer chooses on the consent page. */
export const startGrantRequest = z.strictObject({
  accountId: accountId
    .optional()
    .describe('The account whose grant is to be replaced. If absent, a new account is created.'),
  label: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "The CRM's own name for the account. The customer sees it on the page that asks for confirmation.",
    ),
  reference: accountReference
    .optional()
    .describe(
      "The CRM's own id for the account. It appears in the audit trail, so do not use personal data. `GET /v1/accounts?reference=` finds the account by it. If absent in a renewal, the reference stays unchanged.",
    ),
  scopes: z
    .array(scope.describe('`messaging.read`, `messaging.send`, `messaging.events` or `messaging.manage`.'))
    .min(1)
    .optional()
    .describe('The scopes to request. If absent, the customer may choose any. The customer may grant fewer.'),
  connectionIds: z
    .array(listedId)
    .min(1)
    .max(500)
    .optional()
    .describe(
      'The connections to request. If absent, the customer chooses among all connections of the workspace.',
    ),
  returnUrl: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^https?:\/\/[^/?#@]+([/?][^#]*)?$/i, 'must not contain credentials or a fragment')
    .optional()
    .describe(
      "Where the customer's browser is sent afterwards. Its query gets `outcome`: `connected`, or the reason for the failure. Anybody can forge that parameter, so check the result with `GET /v1/accounts?reference=`. If absent, the browser stays on a page of the connector.",
    ),
});
export type StartGrantRequest = z.infer<typeof startGrantRequest>;

/** Response of `POST /v1/accounts/oauth`: where to send the customer's browser. */
export const startedGrant = z.object({
  authorizationUrl: z
    .url()
    .describe(
      "A page of this connector for the customer's browser. Only the browser that continues from there can finish the consent. Keep the URL secret until then.",
    ),
  expiresAt: dateTime.describe('The consent must be finished before this time.'),
  accountId: accountId
    .nullable()
    .describe('The account that receives the grant; null if a new account is created.'),
});
export type StartedGrant = z.infer<typeof startedGrant>;

/** Body of `POST /v1/webhook/rotate`; `compromised` invalidates the old secret at once. */
export const rotateSecretRequest = z.strictObject({
  compromised: z
    .boolean()
    .optional()
    .describe(
      'True if somebody else knows the old secret: it becomes invalid at once, and deliveries in flight are rejected. If absent or false, deliveries in flight are still accepted.',
    ),
  accountId: chosenAccount,
});
export type RotateSecretRequest = z.infer<typeof rotateSecretRequest>;

/** Response of `POST /v1/webhook/rotate`. */
export const rotatedSecret = z.object({
  rotatedAt: dateTime.describe('When the new secret took effect.'),
  previousAcceptedUntil: dateTime
    .nullable()
    .describe(
      'Until this time, deliveries signed with the old secret before the rotation are accepted; null if none are.',
    ),
});
export type RotatedSecret = z.infer<typeof rotatedSecret>;
