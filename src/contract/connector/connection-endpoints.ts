import { acknowledgement, restartAnswer } from '../service/connections.ts';
import { HEADERS } from '../service/headers.ts';
import { readReceiptAnswer } from '../service/messages.ts';
import * as connections from './connections.ts';
import {
  API_ERRORS,
  BODY_ERRORS,
  type ConnectorEndpoint,
  SERVICE_CALL_ERRORS,
} from './connector-endpoint.ts';
import { accountQuery } from './lists.ts';
import { pairingEvent } from './pairing.ts';

const callErrors = [...API_ERRORS, ...SERVICE_CALL_ERRORS, 'invalid_request', 'not_found'] as const;

/** The mirror of the service's connections, and what the CRM can do with them. */
export const CONNECTION_ENDPOINTS = {
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    right: 'read',
    summary: 'Lists the mirrored connections.',
    description:
      'Ordered by id. Connections that the service hides (`visible` false) are included; deleted ones only with `health=deleted`.',
    query: connections.listConnectorConnectionsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connections.connectorConnectionList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getConnection: {
    method: 'GET',
    path: '/v1/connections/{id}',
    right: 'read',
    summary: 'Returns one mirrored connection.',
    description:
      'The connection as known from lists, details and events. A deleted connection is returned with `deletedAt`.',
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, 'not_found'],
  },
  mapCustomer: {
    method: 'PUT',
    path: '/v1/connections/{id}/customer',
    right: 'write',
    summary: 'Maps a connection to a customer record of the CRM.',
    description:
      'The mapping belongs to the CRM: no poll or event changes it. Messages of the connection return it as `customerRef`.',
    body: { schema: connections.mapCustomerRequest, required: true },
    answers: [{ status: 200, description: 'Mapped.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found'],
  },
  createConnection: {
    method: 'POST',
    path: '/v1/connections',
    right: 'write',
    summary:
      'Creates a connection at the service. If a response is lost, the connector retries without creating a second connection.',
    description:
      'For `qr` connections of standalone workspaces only. Send an `Idempotency-Key` so that a retry after a lost response is recognized. Then open `GET /v1/connections/{id}/pairing` and have the owner scan the QR code. The slot and the trial start when a number pairs.',
    requestHeaders: [
      {
        name: HEADERS.idempotencyKey,
        description:
          "The CRM's own key, at most 255 characters. Repeating the request with the same key returns the same connection.",
      },
    ],
    body: { schema: connections.createConnectorConnectionRequest, required: false },
    answers: [
      { status: 201, description: 'Created.', schema: connections.createdConnectorConnection },
      {
        status: 200,
        description: 'Already created with the same key.',
        schema: connections.createdConnectorConnection,
        headers: [{ name: HEADERS.idempotencyReplayed, description: '`true`.', required: true }],
      },
    ],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      ...SERVICE_CALL_ERRORS,
      'not_found',
      'forbidden_portal_kind',
      'invalid_grant',
      'idempotency_key_reused',
      'idempotency_in_progress',
      'creation_unknown',
    ],
  },
  deleteConnection: {
    method: 'DELETE',
    path: '/v1/connections/{id}',
    right: 'write',
    summary: 'Permanently deletes a connection at the service. The call is idempotent.',
    description: 'The slot returns to the pool with its remaining time. The messages stay in the connector.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Deleted.', schema: acknowledgement }],
    errors: callErrors,
  },
  restartConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/restart',
    right: 'write',
    summary: 'Restarts the session of a connection.',
    description: 'For a disconnected connection. It may have to be paired again: open its pairing stream.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Restarted.', schema: restartAnswer }],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  logoutConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/logout',
    right: 'write',
    summary: 'Logs out the session of a connection.',
    description: 'The connection itself is kept. To use it again, restart it and pair it.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Logged out.', schema: acknowledgement }],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  streamPairing: {
    method: 'GET',
    path: '/v1/connections/{id}/pairing',
    right: 'write',
    summary: 'Streams each new QR code until the connection is connected.',
    description:
      'The connector polls the service every 3 to 5 s while a client is listening. Replace the QR code on screen with each new one.',
    query: accountQuery,
    answers: [
      {
        status: 200,
        description:
          'Server-sent events, discriminated by `type`. Comments are heartbeats. Close the stream after `connected` or `ended`, because an `EventSource` would reconnect.',
        contentType: 'text/event-stream',
        schema: pairingEvent,
      },
    ],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  requestPairingCode: {
    method: 'POST',
    path: '/v1/connections/{id}/pairing-code',
    right: 'write',
    summary: 'Requests a code that the owner types instead of scanning the QR code.',
    description:
      'An alternative for a phone that cannot scan. At most 5 codes per 15 minutes. If the service declines a code, the QR code still works.',
    query: accountQuery,
    body: { schema: connections.connectorPairingCodeRequest, required: true },
    answers: [{ status: 200, description: 'A new code.', schema: connections.connectorPairingCode }],
    errors: [
      ...callErrors,
      'payload_too_large',
      'invalid_phone_number',
      'already_connected',
      'not_supported_for_provider',
      'pairing_code_unavailable',
    ],
  },
  sendReadReceipt: {
    method: 'POST',
    path: '/v1/read-receipts',
    right: 'write',
    summary: 'Marks messages as read.',
    description: 'Informs the sender that the messages were read. The call is idempotent.',
    body: { schema: connections.connectorReadReceiptRequest, required: true },
    answers: [{ status: 200, description: 'Marked as read.', schema: readReceiptAnswer }],
    errors: [...callErrors, 'payload_too_large', 'addon_required', 'license_inactive'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
