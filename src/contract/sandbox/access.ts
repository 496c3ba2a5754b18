import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { workspaceKind } from '../service/statuses.ts';
import { entriesOf } from './lists.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces`. */
export const createWorkspaceRequest = z.strictObject({
  kind: workspaceKind.describe(
    'Who creates its connections: a developer by API, or the admin of a CRM portal.',
  ),
  slots: z.int().min(0).max(100_000).optional().describe('How many numbers can be licensed; 10 unless told.'),
});
export type CreateWorkspaceRequest = z.infer<typeof createWorkspaceRequest>;

export const createdWorkspace = z.object({
  workspace: z
    .object({ id: id.describe('Id of the workspace.'), kind: workspaceKind.describe('As it was given.') })
    .describe('What was created.'),
});
export type CreatedWorkspace = z.infer<typeof createdWorkspace>;

const scopes = z.array(scope).describe('What it may do.');
const addresses = z.array(z.string().min(1).max(64)).describe('IPv4 or IPv6 addresses, or CIDR ranges.');
const connectionIds = z.array(id).describe('The connections that it reaches.');

/** Body of `POST /workspaces/{id}/api-keys`; what is absent is not limited. */
export const createApiKeyRequest = z.strictObject({
  scopes: scopes.optional().describe('What the key may do; absent: everything.'),
  ipAllowlist: addresses
    .optional()
    .describe('From where it may be used: IPv4 or IPv6 addresses, or CIDR ranges; absent: from anywhere.'),
  connectionIds: connectionIds.optional().describe('The connections that it reaches; absent: all.'),
});
export type CreateApiKeyRequest = z.infer<typeof createApiKeyRequest>;

/** The key is shown only here. */
export const createdApiKey = z.object({
  id: id.describe('Id of the key, for changing and revoking it.'),
  key: z.string().describe('The key; shown only here.'),
});
export type CreatedApiKey = z.infer<typeof createdApiKey>;

/** Body of `PATCH /api-keys/{id}`; what is absent stays, null takes a limit away. */
export const changeApiKeyRequest = z.strictObject({
  scopes: scopes.optional().describe('What the key may do from now on.'),
  ipAllowlist: addresses.nullable().optional().describe('From where it may be used; null: from anywhere.'),
  connectionIds: connectionIds.nullable().optional().describe('The connections that it reaches; null: all.'),
});
export type ChangeApiKeyRequest = z.infer<typeof changeApiKeyRequest>;

/** What a key may do; null: no limit. */
export const apiKeyAccess = z.object({
  id: id.describe('Id of the key.'),
  scopes,
  ipAllowlist: addresses.nullable().describe('From where it may be used; null: from anywhere.'),
  connectionIds: connectionIds.nullable().describe('The connections that it reaches; null: all.'),
});
export type ApiKeyAccess = z.infer<typeof apiKeyAccess>;

/** Body of `POST /api-keys/{id}/try`. */
export const tryAddressRequest = z.strictObject({
  address: z.string().min(1).max(64).describe('An IPv4 or IPv6 address.'),
});
export type TryAddressRequest = z.infer<typeof tryAddressRequest>;

/** Whether the address would be let in, and by which entry; null: the key has no allowlist, or none fits. */
export const triedAddress = z.object({
  allowed: z.boolean().describe('Whether a call from there would be let in.'),
  entry: z.string().nullable().describe('The entry of the allowlist that fits; null: none, or no allowlist.'),
});
export type TriedAddress = z.infer<typeof triedAddress>;

/** Body of `POST /oauth-apps`. */
export const createOauthAppRequest = z.strictObject({
  name: z.string().min(1).max(255).describe('What people read on the consent page.'),
  redirectUris: z
    .array(z.url().max(2048))
    .min(1)
    .describe('Where a consent may lead back to: HTTPS, HTTP on loopback, or a private-use scheme.'),
  scopes: scopes.min(1).describe('The scopes that it may ask for.'),
  webhookUrl: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .describe("The app's webhook, HTTPS on a public host; absent: none."),
  ownerWorkspaceId: id
    .optional()
    .describe('The workspace of its developer, whose consent may be automatic; absent: none.'),
  legacySubscription: z
    .boolean()
    .optional()
    .describe('True: a subscription of before the cut-over, which receives `message.received` only.'),
});
export type CreateOauthAppRequest = z.infer<typeof createOauthAppRequest>;

/** The secrets are shown only here. */
export const createdOauthApp = z.object({
  clientId: id.describe('The `client_id` of the app.'),
  clientSecret: z.string().describe('The `client_secret`; shown only here.'),
  webhookSecret: z.string().nullable().describe('Signs what is sent to `webhookUrl`; null without one.'),
});
export type CreatedOauthApp = z.infer<typeof createdOauthApp>;

/** Body of `PUT /oauth-apps/{id}/webhook`. */
export const setAppWebhookRequest = z.strictObject({
  url: z.string().min(1).max(2048).describe('HTTPS on a publicly reachable host.'),
});
export type SetAppWebhookRequest = z.infer<typeof setAppWebhookRequest>;

/** The webhook of an app; the secret is shown only here. */
export const appWebhook = z.object({
  webhookUrl: z.string().describe('As it was given.'),
  webhookSecret: z.string().describe('Signs what is sent there; shown only here.'),
});
export type AppWebhook = z.infer<typeof appWebhook>;

/** An app as listed, without its secret. */
export const oauthApp = z.object({
  clientId: id.describe('The `client_id` of the app.'),
  name: z.string().describe('What people read on the consent page.'),
  redirectUris: z.array(z.string()).describe('Where a consent may lead back to.'),
  scopes: scopes.describe('The scopes that it may ask for.'),
  webhookUrl: z.string().nullable().describe("The app's webhook; null: none."),
  ownerWorkspaceId: z.string().nullable().describe('The workspace of its developer; null: none.'),
  legacySubscription: z.boolean().describe('True: it receives `message.received` only.'),
  createdAt: dateTime.describe('Virtual time.'),
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
    .describe('As the page shows it; absent: of the one page that waits.'),
});
export type EnterUserCodeRequest = z.infer<typeof enterUserCodeRequest>;

/** The code that the admin of a portal approved a consent with. */
export const createdUserCode = z.object({
  userCode: z.string().describe('The code that was entered.'),
});
export type CreatedUserCode = z.infer<typeof createdUserCode>;

/** A grant and its family of refresh tokens, without any token. */
export const grant = z.object({
  id: id.describe('Id of the grant.'),
  clientId: id.describe('The `client_id` of the app.'),
  workspaceId: id.describe('The workspace whose owner or admin consented.'),
  scopes,
  connectionIds,
  createdAt: dateTime.describe('Virtual time.'),
  revokedAt: dateTime.nullable().describe('When it ended, virtual time; null: it has not.'),
  refreshes: z.int().min(0).describe('How often its tokens were refreshed.'),
  expiresAt: dateTime
    .nullable()
    .describe('When its newest refresh token expires, virtual time; null: none was issued.'),
});
export type Grant = z.infer<typeof grant>;
export const grantList = entriesOf(grant);

/** Body of `PATCH /grants/{id}`: what is left of it. More than it has needs another consent. */
export const narrowGrantRequest = z.strictObject({
  scopes: scopes.min(1).optional().describe('The scopes that are left of it.'),
  connectionIds: connectionIds.min(1).optional().describe('The connections that are left of it.'),
});
export type NarrowGrantRequest = z.infer<typeof narrowGrantRequest>;
