import { z } from 'zod';
import { account } from '../service/account.ts';
import { dateTime } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { workspaceKind } from '../service/statuses.ts';
import { entriesOf } from './lists.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces`. */
export const createWorkspaceRequest = z.strictObject({
  kind: workspaceKind.describe(
    'Who creates its connections: `standalone`, a developer through the API; `crm_portal`, the admin of a CRM portal.',
  ),
  slots: z.int().min(0).max(100_000).optional().describe('How many numbers can be licensed; defaults to 10.'),
});
export type CreateWorkspaceRequest = z.infer<typeof createWorkspaceRequest>;

export const createdWorkspace = z.object({
  workspace: z
    .object({
      id: id.describe('Id of the workspace.'),
      kind: workspaceKind.describe('The kind that was requested.'),
    })
    .describe('The created workspace.'),
});
export type CreatedWorkspace = z.infer<typeof createdWorkspace>;

const scopes = z.array(scope).describe('What the credential is allowed to do.');
const addresses = z.array(z.string().min(1).max(64)).describe('IPv4 or IPv6 addresses, or CIDR ranges.');
const connectionIds = z.array(id).describe('The connections that the credential can access.');

/** Body of `POST /workspaces/{id}/api-keys`. A limit that is left out does not apply. */
export const createApiKeyRequest = z.strictObject({
  scopes: scopes.optional().describe('What the key is allowed to do; if absent, everything.'),
  ipAllowlist: addresses
    .optional()
    .describe(
      'Where the key can be used from: IPv4 or IPv6 addresses, or CIDR ranges. If absent, from anywhere.',
    ),
  connectionIds: connectionIds
    .optional()
    .describe('The connections that the key can access; if absent, all.'),
});
export type CreateApiKeyRequest = z.infer<typeof createApiKeyRequest>;

/** The key is returned only here. */
export const createdApiKey = z.object({
  id: id.describe('Id of the key, for changing or revoking it.'),
  key: z.string().describe('The key; returned only here.'),
});
export type CreatedApiKey = z.infer<typeof createdApiKey>;

/** Body of `PATCH /api-keys/{id}`. Absent fields stay unchanged; null removes a limit. */
export const changeApiKeyRequest = z.strictObject({
  scopes: scopes.optional().describe('What the key is allowed to do from now on.'),
  ipAllowlist: addresses.nullable().optional().describe('Where the key can be used from; null for anywhere.'),
  connectionIds: connectionIds
    .nullable()
    .optional()
    .describe('The connections that the key can access; null for all.'),
});
export type ChangeApiKeyRequest = z.infer<typeof changeApiKeyRequest>;

/** What a key is allowed to do; null for no limit. */
export const apiKeyAccess = z.object({
  id: id.describe('Id of the key.'),
  scopes,
  ipAllowlist: addresses.nullable().describe('Where the key can be used from; null for anywhere.'),
  connectionIds: connectionIds.nullable().describe('The connections that the key can access; null for all.'),
});
export type ApiKeyAccess = z.infer<typeof apiKeyAccess>;

/** An API key in a list, without the key. */
export const listedApiKey = z.object({
  ...apiKeyAccess.shape,
  hint: z
    .string()
    .describe(
      'The first 8 hex digits of the SHA-256 of the key, to recognize it. The key itself is not stored.',
    ),
  createdAt: dateTime.describe('When the key was created, in virtual time.'),
  revokedAt: dateTime
    .nullable()
    .describe('When the key was revoked, in virtual time; null while it is valid.'),
});

export const listedWorkspace = z.object({
  id: id.describe('Id of the workspace.'),
  kind: workspaceKind.describe('`standalone` or `crm_portal`.'),
  createdAt: dateTime.describe('When the workspace was created, in virtual time.'),
  slots: account.shape.slots.describe('As in `GET /account` of the service.'),
  apiKeys: z.array(listedApiKey).describe('Its API keys, oldest first, including revoked ones.'),
});
export const workspaceList = entriesOf(listedWorkspace);

/** Body of `POST /api-keys/{id}/try`. */
export const tryAddressRequest = z.strictObject({
  address: z.string().min(1).max(64).describe('An IPv4 or IPv6 address.'),
});
export type TryAddressRequest = z.infer<typeof tryAddressRequest>;

/**
 * Whether the key could be used from the address, and the matching entry; null if the key has no allowlist or
 * no entry matches.
 */
export const triedAddress = z.object({
  allowed: z.boolean().describe('Whether a call from this address would be accepted.'),
  entry: z
    .string()
    .nullable()
    .describe('The matching entry of the allowlist; null if none matches or there is no allowlist.'),
});
export type TriedAddress = z.infer<typeof triedAddress>;

/** Body of `POST /oauth-apps`. */
export const createOauthAppRequest = z.strictObject({
  name: z.string().min(1).max(255).describe('The name shown on the consent page.'),
  redirectUris: z
    .array(z.url().max(2048))
    .min(1)
    .describe('Where a consent may redirect to: HTTPS, HTTP on a loopback address, or a private-use scheme.'),
  scopes: scopes.min(1).describe('The scopes that the app may request.'),
  webhookUrl: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .describe("The app's webhook, an HTTPS URL on a public host; if absent, none."),
  ownerWorkspaceId: id
    .optional()
    .describe("The workspace of the app's developer, whose consent may be automatic; if absent, none."),
  legacySubscription: z
    .boolean()
    .optional()
    .describe('True for a subscription from before the cut-over, which receives only `message.received`.'),
});
export type CreateOauthAppRequest = z.infer<typeof createOauthAppRequest>;

/** The secrets are returned only here. */
export const createdOauthApp = z.object({
  clientId: id.describe('The `client_id` of the app.'),
  clientSecret: z.string().describe('The `client_secret`; returned only here.'),
  webhookSecret: z
    .string()
    .nullable()
    .describe('The secret that signs deliveries to `webhookUrl`; null without a webhook.'),
});
export type CreatedOauthApp = z.infer<typeof createdOauthApp>;

/** Body of `PUT /oauth-apps/{id}/webhook`. */
export const setAppWebhookRequest = z.strictObject({
  url: z.string().min(1).max(2048).describe('An HTTPS URL on a publicly reachable host.'),
});
export type SetAppWebhookRequest = z.infer<typeof setAppWebhookRequest>;

/** The webhook of an app; the secret is returned only here. */
export const appWebhook = z.object({
  webhookUrl: z.string().describe('The URL that was set.'),
  webhookSecret: z.string().describe('The secret that signs deliveries to this URL; returned only here.'),
});
export type AppWebhook = z.infer<typeof appWebhook>;

/** An OAuth app in a list, without its secrets. */
export const oauthApp = z.object({
  clientId: id.describe('The `client_id` of the app.'),
  name: z.string().describe('The name shown on the consent page.'),
  redirectUris: z.array(z.string()).describe('Where a consent may redirect to.'),
  scopes: scopes.describe('The scopes that the app may request.'),
  webhookUrl: z.string().nullable().describe("The app's webhook; null if none."),
  ownerWorkspaceId: z.string().nullable().describe("The workspace of the app's developer; null if none."),
  legacySubscription: z.boolean().describe('True if the app receives only `message.received`.'),
  createdAt: dateTime.describe('When the app was registered, in virtual time.'),
});
export type OauthApp = z.infer<typeof oauthApp>;
export const oauthAppList = entriesOf(oauthApp);

/** Body of `POST /workspaces/{id}/user-codes`. */
export const enterUserCodeRequest = z.strictObject({
  userCode: z
    .string()
    .min(1)
    .max(32)
    .optional()
    .describe('The code that the page shows. It may be omitted if only one page is waiting.'),
});
export type EnterUserCodeRequest = z.infer<typeof enterUserCodeRequest>;

/** The user code with which the portal admin approved a consent. */
export const createdUserCode = z.object({
  userCode: z.string().describe('The code that was entered.'),
});
export type CreatedUserCode = z.infer<typeof createdUserCode>;

/** A grant and the state of its refresh tokens, without any token. */
export const grant = z.object({
  id: id.describe('Id of the grant.'),
  clientId: id.describe('The `client_id` of the app.'),
  workspaceId: id.describe('The workspace whose owner or admin consented.'),
  scopes,
  connectionIds,
  createdAt: dateTime.describe('When the grant was created, in virtual time.'),
  revokedAt: dateTime.nullable().describe('When the grant ended, in virtual time; null while it is valid.'),
  refreshes: z.int().min(0).describe('How often its tokens were refreshed.'),
  expiresAt: dateTime
    .nullable()
    .describe('When its newest refresh token expires, in virtual time; null if none was issued.'),
});
export type Grant = z.infer<typeof grant>;

/** A grant in a list, with its family of refresh tokens. */
const listedGrant = z.object({
  ...grant.shape,
  refreshTokens: z
    .array(
      z.object({
        expiresAt: dateTime.describe('When the token expires, in virtual time.'),
        usedAt: dateTime
          .nullable()
          .describe(
            'When it was replaced by the next one, in virtual time; null for the one that can be used.',
          ),
      }),
    )
    .describe('Its refresh tokens, newest first, the latest 20. Using a replaced one again ends the grant.'),
});
export const grantList = entriesOf(listedGrant);

/** Body of `PATCH /grants/{id}`: what the grant is reduced to. Extending a grant requires another consent. */
export const narrowGrantRequest = z.strictObject({
  scopes: scopes.min(1).optional().describe('The scopes that the grant keeps.'),
  connectionIds: connectionIds.min(1).optional().describe('The connections that the grant keeps.'),
});
export type NarrowGrantRequest = z.infer<typeof narrowGrantRequest>;
