import type { EndpointDefinition } from '../schema/endpoint.ts';
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

/** Errors that every endpoint can return before it processes the request. */
export const COMMON_ERRORS = [
  'invalid_key',
  'invalid_token',
  'ip_not_allowed',
  'insufficient_scope',
  'internal_error',
] as const satisfies readonly ErrorCode[];

const withBody = ['invalid_request', 'payload_too_large'] as const satisfies readonly ErrorCode[];
const license = ['addon_required', 'license_inactive'] as const satisfies readonly ErrorCode[];

const idempotencyKeyHeader = {
  name: HEADERS.idempotencyKey,
  description: 'Opaque, at most 255 characters, valid for 24 hours. A blank key is treated as absent.',
};
const replayedHeader = { name: HEADERS.idempotencyReplayed, description: '`true`.', required: true };

/**
 * The endpoints of the service, by operation name, in the order of the table. [service.resources]
 * [service.provider.same-shapes]
 */
export const SERVICE_ENDPOINTS = {
  listConnections: {
    number: 1,
    method: 'GET',
    path: '/connections',
    scope: 'messaging.read', // [connections.list.scope]
    summary: 'Lists the connections with an active license.',
    description:
      'Connections whose license or add-on is active and that the credential can access. A connection whose license has lapsed is not listed.',
    answers: [
      {
        status: 200,
        // [connections.list.answer] [connections.list.empty]
        description: 'The connections; the list may be empty.',
        schema: connections.connectionListAnswer,
      },
    ],
    errors: [...COMMON_ERRORS],
  },
  createConnection: {
    number: 2,
    method: 'POST',
    path: '/connections',
    scope: 'messaging.manage', // [connections.create.scope]
    summary: 'Creates a `qr` connection and starts pairing.',
    description:
      'Standalone workspaces only. The connection has no number until its owner scans the QR code or types a pairing code; the slot and the trial are claimed then. The QR code is stale within about 20 seconds: poll `GET /connections/{id}` every 3 to 5 seconds and show each new one until `status` is `connected`. Check `GET /account` first: a connection created beyond the available slots has no active license. With an `Idempotency-Key`, repeating the request with the same body returns the same connection for 24 hours.',
    example: { label: 'Front desk' },
    // [connections.create.key-optional] [connections.create.idempotency.only-here]
    requestHeaders: [idempotencyKeyHeader],
    // [connections.create.body.optional]
    body: { schema: connections.createConnectionRequest, required: false },
    answers: [
      // [connections.create.answer]
      { status: 201, description: 'Created.', schema: connections.createdConnectionAnswer },
      {
        status: 200,
        // [connections.create.replay-answer]
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
    scope: 'messaging.manage', // [connections.get.scope]
    summary: 'Returns one connection, with a new QR code on every call.',
    description:
      'Poll it every 3 to 5 seconds while the connection is pairing, and show each new `qr` until `status` is `connected`.',
    // [connections.get.answer]
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectionDetailAnswer }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  deleteConnection: {
    number: 4,
    method: 'DELETE',
    path: '/connections/{id}',
    scope: 'messaging.manage', // [connections.delete.scope]
    summary: 'Permanently deletes a connection.',
    description:
      'This cannot be undone. The slot returns to the pool with its remaining time, and the id is retired.',
    // [connections.delete.answer]
    answers: [{ status: 200, description: 'Deleted.', schema: connections.acknowledgement }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  restartConnection: {
    number: 5,
    method: 'POST',
    path: '/connections/{id}/restart',
    scope: 'messaging.manage', // [connections.restart.scope]
    summary: 'Restarts the session and keeps the record.',
    description:
      'Poll the connection afterwards: if `status` is `connecting`, its owner must scan a new QR code.',
    // [connections.restart.answer]
    answers: [{ status: 200, description: 'Restarted.', schema: connections.restartAnswer }],
    errors: [...COMMON_ERRORS, 'not_found'],
  },
  logoutConnection: {
    number: 6,
    method: 'POST',
    path: '/connections/{id}/logout',
    scope: 'messaging.manage', // [connections.logout.scope]
    summary: 'Logs out the session, clears its credentials and keeps the record.',
    description:
      'To use the connection again, restart it and have its owner scan a new QR code. `qr` connections only.',
    // [connections.logout.answer]
    answers: [{ status: 200, description: 'Logged out.', schema: connections.acknowledgement }],
    errors: [...COMMON_ERRORS, 'not_found', 'not_supported_for_provider'],
  },
  requestPairingCode: {
    number: 7,
    method: 'POST',
    path: '/connections/{id}/pairing-code',
    scope: 'messaging.manage', // [connections.pairing-code.scope]
    summary: 'Requests a code that the owner types instead of scanning the QR code.',
    description:
      'For owners who cannot scan. `qr` connections only, at most 5 times per connection in 15 minutes; every call returns a new code. On success, `status` becomes `connected`. A 502 is an ordinary outcome: fall back to the QR code.',
    example: { phoneNumber: '447700900123' },
    body: { schema: connections.pairingCodeRequest, required: true }, // [connections.pairing-code.request]
    // [connections.pairing-code.answer]
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
    scope: 'messaging.read', // [account.get.scope]
    summary: 'Returns slots and connection counts.',
    description:
      'How many numbers can still be licensed, when the next license expires, and how many connections are waiting for a scan.',
    answers: [{ status: 200, description: 'The account.', schema: account }], // [account.get.answer]
    errors: [...COMMON_ERRORS],
  },
  listMessages: {
    number: 9,
    method: 'GET',
    path: '/messages',
    scope: 'messaging.read', // [messages.list.scope]
    summary: 'Lists messages, newest first.',
    description:
      'The recent messages of all connections that the credential can access, or of one connection. Pass `nextCursor` as `cursor` to get the next page. Poll every 30 to 60 seconds, because webhooks can be lost.',
    query: messages.listMessagesQuery, // [messages.list.query]
    // [messages.list.answer]
    answers: [{ status: 200, description: 'A page.', schema: messages.listMessagesAnswer }],
    errors: [...COMMON_ERRORS, 'invalid_request'],
  },
  sendMessage: {
    number: 10,
    method: 'POST',
    path: '/messages',
    scope: 'messaging.send', // [messages.send.scope]
    summary: 'Sends a text or a media file.',
    description:
      'A `qr` send takes 1 to 7 seconds, up to about 20 for long texts and up to 2.5 minutes while a session heals: use a timeout of at least 180 seconds. Set an `idempotencyKey`, and retry with the same key if the response is lost. If `persisted` is false, the message was delivered but not stored; do not send it again.',
    example: {
      connectionId: 'c8k2v5m1x9q4w7z3n6b0t2r5',
      to: '447700900201',
      text: 'Your table is booked.',
      idempotencyKey: '0b5c1f4e-8d2a-4c57-9a3e-6f1d2b7c8e90',
    },
    body: { schema: messages.sendMessageRequest, required: true },
    // [messages.send.answer]
    answers: [{ status: 200, description: 'Sent.', schema: messages.sendMessageAnswer }],
    errors: [
      ...COMMON_ERRORS,
      ...withBody,
      ...license,
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
    scope: 'messaging.send', // [messages.read.scope]
    summary: 'Sends a read receipt.',
    description:
      'Requires `connectionId` and at least one of `phone` and `messageId`. A `qr` connection marks the whole chat; a `cloud_api` connection marks one message, with only `phone` the newest from that number. The call is idempotent.',
    example: { connectionId: 'c8k2v5m1x9q4w7z3n6b0t2r5', phone: '447700900201' },
    body: { schema: messages.readReceiptRequest, required: true }, // [messages.read.request]
    // [messages.read.answer]
    answers: [{ status: 200, description: 'Marked as read.', schema: messages.readReceiptAnswer }],
    errors: [...COMMON_ERRORS, ...withBody, ...license, 'not_found'],
  },
  getWebhook: {
    number: 12,
    method: 'GET',
    path: '/webhook',
    scope: 'messaging.events', // [webhook.get.scope]
    summary: 'Returns the webhook configuration, without the secret.',
    description:
      'The secret is returned only by `PUT /webhook` and `POST /webhook/rotate`. Before the first `PUT`, `url` is null.',
    // [webhook.get.answer]
    answers: [{ status: 200, description: 'The configuration.', schema: webhook.webhookAnswer }],
    errors: [...COMMON_ERRORS],
  },
  putWebhook: {
    number: 13,
    method: 'PUT',
    path: '/webhook',
    scope: 'messaging.events', // [webhook.put.scope]
    summary: 'Sets the webhook URL and issues a new secret.',
    description:
      'Each account has exactly one webhook. Setting it again moves it and issues a new secret. The URL must be HTTPS on a publicly reachable host.',
    example: { url: 'https://crm.example/webhooks/messaging' },
    body: { schema: webhook.putWebhookRequest, required: true }, // [webhook.put.request]
    // [webhook.put.answer]
    answers: [{ status: 200, description: 'The configuration.', schema: webhook.putWebhookAnswer }],
    errors: [...COMMON_ERRORS, ...withBody, 'invalid_webhook'],
  },
  rotateWebhook: {
    number: 14,
    method: 'POST',
    path: '/webhook/rotate',
    scope: 'messaging.events', // [webhook.rotate.scope]
    summary: 'Issues a new secret and invalidates the old one at once.',
    description: 'There is no overlap: every delivery from now on is signed with the new secret.',
    // [webhook.rotate.answer]
    answers: [{ status: 200, description: 'The new secret.', schema: webhook.rotateWebhookAnswer }],
    errors: [...COMMON_ERRORS, 'invalid_webhook'],
  },
} as const satisfies Readonly<Record<string, ServiceEndpoint>>;

/** Operation name of an endpoint. */
export type ServiceEndpointName = keyof typeof SERVICE_ENDPOINTS;
