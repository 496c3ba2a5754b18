import type { EndpointDefinition } from '../endpoint.ts';
import { account } from './account.ts';
import * as connections from './connections.ts';
import type { ErrorCode } from './errors.ts';
import { HEADERS } from './headers.ts';
import * as messages from './messages.ts';
import type { Scope } from './scopes.ts';
import * as webhook from './webhook.ts';

/** One of the 14 endpoints. */
export interface ServiceEndpoint extends EndpointDefinition<ErrorCode> {
  /** Number in the specification's table. */
  readonly number: number;
  readonly scope: Scope;
}

/** What every endpoint can answer, before it looks at the request. */
export const COMMON_ERRORS = [
  'invalid_key',
  'invalid_token',
  'ip_not_allowed',
  'insufficient_scope',
  'internal_error',
] as const satisfies readonly ErrorCode[];

const withBody = ['invalid_request', 'payload_too_large'] as const satisfies readonly ErrorCode[];
const licence = ['addon_required', 'license_inactive'] as const satisfies readonly ErrorCode[];

const idempotencyKeyHeader = {
  name: HEADERS.idempotencyKey,
  description: 'Opaque, at most 255 characters, good for 24 hours. Blank counts as absent.',
};
const replayedHeader = { name: HEADERS.idempotencyReplayed, description: '`true`.', required: true };

/** The endpoints of the service, by operation name, in the order of the table. Implements `Endpoints`. */
export const SERVICE_ENDPOINTS = {
  listConnections: {
    number: 1,
    method: 'GET',
    path: '/connections',
    scope: 'messaging.read',
    summary: 'Lists the connections with an active licence.',
    answers: [{ status: 200, description: 'Possibly empty.', schema: connections.connectionListAnswer }],
    errors: [...COMMON_ERRORS],
  },
  createConnection: {
    number: 2,
    method: 'POST',
    path: '/connections',
    scope: 'messaging.manage',
    summary: 'Creates a `qr` connection and starts pairing.',
    requestHeaders: [idempotencyKeyHeader],
    body: { schema: connections.createConnectionRequest, required: false },
    answers: [
      { status: 201, description: 'Created.', schema: connections.createdConnectionAnswer },
      {
        status: 200,
        description: 'The connection that the first request with this key created.',
        schema: connections.replayedConnectionAnswer,
        headers: [replayedHeader],
      },
    ],
    errors: [
      ...COMMON_ERRORS,
      ...withBody,
      'idempotency_key_invalid',
      'idempotency_key_reuse',
      'idempotency_in_progress',
      'forbidden_portal_kind',
      'invalid_grant',
      'not_found',
    ],
  },
  getConnection: {
    number: 3,
    method: 'GET',
    path: '/connections/{id}',
    scope: 'messaging.manage',
    summary: 'Reads one connection, with a new pairing picture on every call.',
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectionDetailAnswer }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  deleteConnection: {
    number: 4,
    method: 'DELETE',
    path: '/connections/{id}',
    scope: 'messaging.manage',
    summary: 'Deletes a connection for good.',
    answers: [{ status: 200, description: 'Deleted.', schema: connections.acknowledgement }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  restartConnection: {
    number: 5,
    method: 'POST',
    path: '/connections/{id}/restart',
    scope: 'messaging.manage',
    summary: 'Restarts the session and keeps the record.',
    answers: [{ status: 200, description: 'Restarted.', schema: connections.restartAnswer }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  logoutConnection: {
    number: 6,
    method: 'POST',
    path: '/connections/{id}/logout',
    scope: 'messaging.manage',
    summary: 'Logs the session out, clears its credentials and keeps the record.',
    answers: [{ status: 200, description: 'Logged out.', schema: connections.acknowledgement }],
    errors: [...COMMON_ERRORS, 'not_found', 'not_supported_for_provider'],
  },
  requestPairingCode: {
    number: 7,
    method: 'POST',
    path: '/connections/{id}/pairing-code',
    scope: 'messaging.manage',
    summary: 'Asks for a code that the owner types in place of scanning.',
    body: { schema: connections.pairingCodeRequest, required: true },
    answers: [{ status: 200, description: 'A new code.', schema: connections.pairingCodeAnswer }],
    errors: [
      ...COMMON_ERRORS,
      ...withBody,
      'invalid_phone_number',
      'not_found',
      'not_supported_for_provider',
      'already_connected',
      'rate_limited',
      'pairing_code_unavailable',
    ],
  },
  getAccount: {
    number: 8,
    method: 'GET',
    path: '/account',
    scope: 'messaging.read',
    summary: 'Reads slots and connection counts.',
    answers: [{ status: 200, description: 'The account.', schema: account }],
    errors: [...COMMON_ERRORS],
  },
  listMessages: {
    number: 9,
    method: 'GET',
    path: '/messages',
    scope: 'messaging.read',
    summary: 'Lists messages, newest first.',
    query: messages.listMessagesQuery,
    answers: [{ status: 200, description: 'A page.', schema: messages.listMessagesAnswer }],
    errors: [...COMMON_ERRORS, 'invalid_request'],
  },
  sendMessage: {
    number: 10,
    method: 'POST',
    path: '/messages',
    scope: 'messaging.send',
    summary: 'Sends a text or a file.',
    body: { schema: messages.sendMessageRequest, required: true },
    answers: [{ status: 200, description: 'Sent.', schema: messages.sendMessageAnswer }],
    errors: [
      ...COMMON_ERRORS,
      ...withBody,
      ...licence,
      'text_or_media',
      'not_found',
      'idempotency_key_reuse',
      'in_progress',
      'recipient_not_on_whatsapp',
      'warmup_limited',
      'rate_limited',
      'send_failed',
    ],
  },
  markRead: {
    number: 11,
    method: 'POST',
    path: '/messages/read',
    scope: 'messaging.send',
    summary: 'Sends a read receipt.',
    body: { schema: messages.readReceiptRequest, required: true },
    answers: [{ status: 200, description: 'Marked.', schema: messages.readReceiptAnswer }],
    errors: [...COMMON_ERRORS, ...withBody, ...licence, 'not_found'],
  },
  getWebhook: {
    number: 12,
    method: 'GET',
    path: '/webhook',
    scope: 'messaging.events',
    summary: 'Reads the webhook configuration, without the secret.',
    answers: [{ status: 200, description: 'The configuration.', schema: webhook.webhookAnswer }],
    errors: [...COMMON_ERRORS],
  },
  putWebhook: {
    number: 13,
    method: 'PUT',
    path: '/webhook',
    scope: 'messaging.events',
    summary: 'Sets the one webhook URL and issues a new secret.',
    body: { schema: webhook.putWebhookRequest, required: true },
    answers: [{ status: 200, description: 'The configuration.', schema: webhook.putWebhookAnswer }],
    errors: [...COMMON_ERRORS, ...withBody, 'invalid_webhook'],
  },
  rotateWebhook: {
    number: 14,
    method: 'POST',
    path: '/webhook/rotate',
    scope: 'messaging.events',
    summary: 'Issues a new secret; the old one is void at once.',
    answers: [{ status: 200, description: 'The new secret.', schema: webhook.rotateWebhookAnswer }],
    errors: [...COMMON_ERRORS, 'invalid_webhook'],
  },
} as const satisfies Readonly<Record<string, ServiceEndpoint>>;

/** Operation name of an endpoint. */
export type ServiceEndpointName = keyof typeof SERVICE_ENDPOINTS;
