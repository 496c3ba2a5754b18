import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import * as access from './access.ts';
import * as connections from './connections.ts';
import { sandboxPageQuery } from './lists.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';

/** Workspaces, credentials, licenses and consents: what portals and billing do. */
export const ACCESS_ENDPOINTS = defineEndpoints({
  createWorkspace: {
    method: 'POST',
    path: '/workspaces',
    summary: 'Creates a workspace.',
    body: { schema: access.createWorkspaceRequest, required: true },
    answers: [{ status: 201, description: 'Created.', schema: access.createdWorkspace }],
  },
  listWorkspaces: {
    method: 'GET',
    path: '/workspaces',
    summary: 'Lists workspaces with their slots and API keys, oldest first.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: access.workspaceList }],
  },
  createApiKey: {
    method: 'POST',
    path: '/workspaces/{id}/api-keys',
    summary: 'Creates an API key. A limit that is left out does not apply.',
    body: { schema: access.createApiKeyRequest, required: false },
    answers: [
      { status: 201, description: 'Created. The key is returned only here.', schema: access.createdApiKey },
    ],
  },
  changeApiKey: {
    method: 'PATCH',
    path: '/api-keys/{id}',
    summary: 'Narrows or widens a key; takes effect on the next call.',
    body: { schema: access.changeApiKeyRequest, required: true },
    answers: [{ status: 200, description: 'The current access of the key.', schema: access.apiKeyAccess }],
  },
  revokeApiKey: {
    method: 'DELETE',
    path: '/api-keys/{id}',
    summary: 'Revokes a key; takes effect on the next call.',
    answers: [{ status: 200, description: 'Revoked.', schema: acknowledgement }],
  },
  tryAddress: {
    method: 'POST',
    path: '/api-keys/{id}/try',
    summary: 'Reports whether the key could be used from an address, and which allowlist entry matches.',
    body: { schema: access.tryAddressRequest, required: true },
    answers: [{ status: 200, description: 'The result.', schema: access.triedAddress }],
  },
  addConnection: {
    method: 'POST',
    path: '/workspaces/{id}/connections',
    summary:
      'Adds a paired connection, as a portal admin or embedded signup would. Its number has no warm-up by default.',
    body: { schema: connections.addConnectionRequest, required: true },
    answers: [{ status: 201, description: 'Added.', schema: connections.addedConnection }],
    errors: ['wrong_state'],
  },
  setLicense: {
    method: 'PUT',
    path: '/connections/{id}/licence',
    summary: 'Sets the license of a connection.',
    body: { schema: connections.setLicenseRequest, required: true },
    answers: [{ status: 200, description: 'The current license.', schema: connections.license }],
  },
  createUserCode: {
    method: 'POST',
    path: '/workspaces/{id}/user-codes',
    summary: 'Enters a user code as a portal admin would, which approves the consent whose page shows it.',
    body: { schema: access.enterUserCodeRequest, required: false },
    answers: [{ status: 201, description: 'The code that was entered.', schema: access.createdUserCode }],
    errors: ['wrong_state'],
  },
  createOauthApp: {
    method: 'POST',
    path: '/oauth-apps',
    summary: 'Registers an OAuth app.',
    body: { schema: access.createOauthAppRequest, required: true },
    answers: [
      {
        status: 201,
        description: 'Registered. The secrets are returned only here.',
        schema: access.createdOauthApp,
      },
    ],
    errors: ['not_found', 'invalid_webhook'],
  },
  setAppWebhook: {
    method: 'PUT',
    path: '/oauth-apps/{id}/webhook',
    summary: 'Sets the webhook of an OAuth app and issues a new secret.',
    body: { schema: access.setAppWebhookRequest, required: true },
    answers: [
      { status: 200, description: 'Set. The secret is returned only here.', schema: access.appWebhook },
    ],
    errors: ['invalid_webhook'],
  },
  listOauthApps: {
    method: 'GET',
    path: '/oauth-apps',
    summary: 'Lists OAuth apps.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: access.oauthAppList }],
  },
  listGrants: {
    method: 'GET',
    path: '/grants',
    summary: 'Lists grants with the state of their refresh tokens.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: access.grantList }],
  },
  narrowGrant: {
    method: 'PATCH',
    path: '/grants/{id}',
    summary: 'Narrows a grant; takes effect on the next call.',
    body: { schema: access.narrowGrantRequest, required: true },
    answers: [{ status: 200, description: 'The current grant.', schema: access.grant }],
  },
  revokeGrant: {
    method: 'DELETE',
    path: '/grants/{id}',
    summary: 'Revokes a grant; takes effect on the next call.',
    answers: [{ status: 200, description: 'Revoked.', schema: acknowledgement }],
  },
});
