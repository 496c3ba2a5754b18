import { z } from 'zod';
import { account } from '../service/account.ts';
import { dateTime, identifier } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { accountId, chosenAccount, listOf, pageQuery } from './lists.ts';

export const ACCOUNT_KINDS = ['api_key', 'oauth'] as const;
const accountKind = z
  .enum(ACCOUNT_KINDS)
  .describe(
    '`api_key`: an API key of the service. `oauth`: the grant of a customer of the OAuth app that the connector is.',
  );
export type AccountKind = z.infer<typeof accountKind>;

/** Whether the service is called for an account. */
export const ACCOUNT_STATES = ['active', 'webhook_only', 'credential_refused', 'reauth_required'] as const;
const accountState = z
  .enum(ACCOUNT_STATES)
  .describe(
    '`active`: in use. `webhook_only`: there is no credential, so it only receives webhooks. `credential_refused`: the service refuses the API key; polls and sends wait for another one. `reauth_required`: the grant has ended; they wait for a new consent.',
  );
export type AccountState = z.infer<typeof accountState>;

/** The CRM's own id of an account. Several accounts may share one. */
const accountReference = z
  .string()
  .max(120)
  .regex(/^[\w.:@/%-]+$/, 'must be letters, digits and . : @ / % _ -');

/** What the service's `GET /account` told last. */
const accountQuota = z.object({
  readAt: dateTime.describe('When the service told these figures.'),
  slots: account.shape.slots,
  connections: account.shape.connections,
});

/** A valid licence that ends within seven days. */
const endingLicense = z.object({
  connectionId: identifier.describe('The connection that loses its licence.'),
  licenseExpires: dateTime.describe('End of the licence, as the service told it last.'),
});

/** A grant that has ended. Polls and sends of its account wait. */
const reauth = z.object({
  since: dateTime.describe('When the connector learned that the grant had ended.'),
  reason: z.string().describe('Code of the authorization server, such as `invalid_grant`.'),
  startAt: z
    .string()
    .describe('Where `{"accountId": …}` is posted to: the answer has the address for the customer.'),
});

/** A credential of a service that this connector integrates. The credential itself is never shown. */
export const connectorAccount = z.object({
  id: accountId.describe(
    'Given by the connector. The account that the environment names keeps its id when its API key changes.',
  ),
  kind: accountKind,
  label: z
    .string()
    .nullable()
    .describe("The CRM's own name of it, from `POST /v1/accounts/oauth`; null: none was given."),
  reference: z
    .string()
    .nullable()
    .describe("The CRM's own id of it, as its consent was started with; null: none was given."),
  baseUrl: z.string().nullable().describe('`{base_url}` of the service; null when it is never called.'),
  state: accountState,
  reauth: reauth.nullable().describe('Why and since when the customer must consent again; null: need not.'),
  subscriptionId: identifier.describe(
    'Id of its webhook subscription, as in `webhookPath`. All grants of an OAuth app share one.',
  ),
  webhookPath: z.string().describe('Path of its webhook at this connector.'),
  webhookUrl: z
    .string()
    .nullable()
    .describe('Registered at the service by this connector; null: none, as for every grant of an OAuth app.'),
  webhookRegisteredAt: dateTime
    .nullable()
    .describe('When `webhookUrl` was registered; null when `webhookUrl` is.'),
  secretInDoubt: z
    .boolean()
    .describe('Its signing secret is being replaced, and nobody knows yet which holds.'),
  quota: accountQuota
    .nullable()
    .describe("The figures of the service's `GET /account`, read every few minutes; null until then."),
  endingLicenses: z
    .array(endingLicense)
    .describe('Valid licences that end within seven days, the soonest first, 100 at most.'),
  createdAt: dateTime.describe('When it was added to the connector.'),
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
    .regex(/^[^@?#]*$/, 'must hold no credentials, query or fragment')
    .describe(
      '`{base_url}` of the service, with `/api/v1`. https, unless it is on this machine. At the host of `SERVICE_BASE_URL` or one that `CONNECTOR_SERVICE_HOSTS` names; where neither is set, at a public address.',
    ),
  apiKey: z
    .string()
    .max(4096)
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces')
    .describe('An API key of the service. It is tried first, kept sealed, and never shown again.'),
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
  label: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("The CRM's own name of the account. The customer sees it on the page that asks to go on."),
  reference: accountReference
    .optional()
    .describe(
      "The CRM's own id of the account: an id, since it stands in the audit trail. `GET /v1/accounts?reference=` finds the account by it. Absent in a renewal: it stays.",
    ),
  scopes: z
    .array(scope.describe('`messaging.read`, `messaging.send`, `messaging.events` or `messaging.manage`.'))
    .min(1)
    .optional()
    .describe('The scopes to ask for; absent: the customer chooses among all. Fewer may be granted.'),
  connectionIds: z
    .array(listedId)
    .min(1)
    .max(500)
    .optional()
    .describe('The connections to ask for; absent: the customer chooses among all of the workspace.'),
  returnUrl: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .regex(/^https?:\/\/[^/?#@]+([/?][^#]*)?$/i, 'must hold no credentials and no fragment')
    .optional()
    .describe(
      "Where the customer's browser goes afterwards, with `outcome` (`connected`, or why not) in its query, which anybody could write there: `GET /v1/accounts?reference=` is what to believe. Absent: it stays on a page of the connector.",
    ),
});
export type StartGrantRequest = z.infer<typeof startGrantRequest>;

/** Answer of `POST /v1/accounts/oauth`: where the customer's browser goes. */
export const startedGrant = z.object({
  authorizationUrl: z
    .url()
    .describe(
      "A page of this connector, for the customer's browser alone. The browser that goes on from there is the only one that can finish the consent. Treat it as a secret until then.",
    ),
  expiresAt: dateTime.describe('The consent must be finished before.'),
  accountId: accountId.nullable().describe('The account that gets the grant; null: a new one.'),
});
export type StartedGrant = z.infer<typeof startedGrant>;

/** Body of `POST /v1/webhook/rotate`; `compromised` ends the old secret at once. */
export const rotateSecretRequest = z.strictObject({
  compromised: z
    .boolean()
    .optional()
    .describe(
      'True: somebody else knows the old secret, so it ends at once and deliveries under way are refused. Absent or false: it holds for them still.',
    ),
  accountId: chosenAccount,
});
export type RotateSecretRequest = z.infer<typeof rotateSecretRequest>;

/** Answer of `POST /v1/webhook/rotate`. */
export const rotatedSecret = z.object({
  rotatedAt: dateTime.describe('When the new secret came into use.'),
  previousAcceptedUntil: dateTime
    .nullable()
    .describe('Until then deliveries that the old secret signed before are taken; null: none are.'),
});
export type RotatedSecret = z.infer<typeof rotatedSecret>;
