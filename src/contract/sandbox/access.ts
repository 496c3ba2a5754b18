import { z } from 'zod';
import { dateTime } from '../service/fields.ts';
import { scope } from '../service/scopes.ts';
import { workspaceKind } from '../service/statuses.ts';
import { entriesOf } from './lists.ts';

const id = z.string().min(1).max(255);

/** Body of `POST /workspaces`. */
export const createWorkspaceRequest = z.strictObject({
  kind: workspaceKind,
  slots: z.int().min(0).max(100_000).optional(),
});
export type CreateWorkspaceRequest = z.infer<typeof createWorkspaceRequest>;

export const createdWorkspace = z.object({ workspace: z.object({ id, kind: workspaceKind }) });
export type CreatedWorkspace = z.infer<typeof createdWorkspace>;

const scopes = z.array(scope);
const addresses = z.array(z.string().min(1).max(64)).describe('IPv4 or IPv6 addresses, or CIDR ranges.');
const connectionIds = z.array(id);

/** Body of `POST /workspaces/{id}/api-keys`; what is absent is not limited. */
export const createApiKeyRequest = z.strictObject({
  scopes: scopes.optional(),
  ipAllowlist: addresses.optional(),
  connectionIds: connectionIds.optional(),
});
export type CreateApiKeyRequest = z.infer<typeof createApiKeyRequest>;

/** The key is shown only here. */
export const createdApiKey = z.object({ id, key: z.string() });
export type CreatedApiKey = z.infer<typeof createdApiKey>;

/** Body of `PATCH /api-keys/{id}`; what is absent stays, null takes a limit away. */
export const changeApiKeyRequest = z.strictObject({
  scopes: scopes.optional(),
  ipAllowlist: addresses.nullable().optional(),
  connectionIds: connectionIds.nullable().optional(),
});
export type ChangeApiKeyRequest = z.infer<typeof changeApiKeyRequest>;

/** What a key may do; null: no limit. */
export const apiKeyAccess = z.object({
  id,
  scopes,
  ipAllowlist: addresses.nullable(),
  connectionIds: connectionIds.nullable(),
});
export type ApiKeyAccess = z.infer<typeof apiKeyAccess>;

/** Body of `POST /api-keys/{id}/try`. */
export const tryAddressRequest = z.strictObject({ address: z.string().min(1).max(64) });
export type TryAddressRequest = z.infer<typeof tryAddressRequest>;

/** Whether the address would be let in, and by which entry; null: the key has no allowlist, or none fits. */
export const triedAddress = z.object({ allowed: z.boolean(), entry: z.string().nullable() });
export type TriedAddress = z.infer<typeof triedAddress>;

/** Body of `POST /oauth-apps`. */
export const createOauthAppRequest = z.strictObject({
  name: z.string().min(1).max(255),
  redirectUris: z.array(z.url().max(2048)).min(1),
  scopes: scopes.min(1),
  webhookUrl: z.string().min(1).max(2048).optional(),
  ownerWorkspaceId: id.optional(),
  legacySubscription: z.boolean().optional().describe('Receives `message.received` alone.'),
});
export type CreateOauthAppRequest = z.infer<typeof createOauthAppRequest>;

/** The secrets are shown only here. */
export const createdOauthApp = z.object({
  clientId: id,
  clientSecret: z.string(),
  webhookSecret: z.string().nullable().describe('Signs what is sent to `webhookUrl`; null without one.'),
});
export type CreatedOauthApp = z.infer<typeof createdOauthApp>;

/** Body of `PUT /oauth-apps/{id}/webhook`. */
export const setAppWebhookRequest = z.strictObject({ url: z.string().min(1).max(2048) });
export type SetAppWebhookRequest = z.infer<typeof setAppWebhookRequest>;

/** The webhook of an app; the secret is shown only here. */
export const appWebhook = z.object({ webhookUrl: z.string(), webhookSecret: z.string() });
export type AppWebhook = z.infer<typeof appWebhook>;

/** An app as listed, without its secret. */
export const oauthApp = z.object({
  clientId: id,
  name: z.string(),
  redirectUris: z.array(z.string()),
  scopes,
  webhookUrl: z.string().nullable(),
  ownerWorkspaceId: z.string().nullable(),
  legacySubscription: z.boolean(),
  createdAt: dateTime,
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
export const createdUserCode = z.object({ userCode: z.string() });
export type CreatedUserCode = z.infer<typeof createdUserCode>;

/** A grant and its family of refresh tokens, without any token. */
export const grant = z.object({
  id,
  clientId: id,
  workspaceId: id,
  scopes,
  connectionIds,
  createdAt: dateTime,
  revokedAt: dateTime.nullable(),
  refreshes: z.int().min(0).describe('How often the family rotated.'),
  expiresAt: dateTime.nullable(),
});
export type Grant = z.infer<typeof grant>;
export const grantList = entriesOf(grant);

/** Body of `PATCH /grants/{id}`: what is left of it. More than it has needs another consent. */
export const narrowGrantRequest = z.strictObject({
  scopes: scopes.min(1).optional(),
  connectionIds: connectionIds.min(1).optional(),
});
export type NarrowGrantRequest = z.infer<typeof narrowGrantRequest>;
