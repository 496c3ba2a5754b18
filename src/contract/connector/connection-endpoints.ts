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

/** The mirror of the connections, and what the CRM does with them. */
export const CONNECTION_ENDPOINTS = {
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    right: 'read',
    summary: 'Lists the mirrored connections.',
    description: 'By id, those included that the service hides (`visible` false). Deleted ones are left out.',
    query: connections.listConnectorConnectionsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connections.connectorConnectionList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getConnection: {
    method: 'GET',
    path: '/v1/connections/{id}',
    right: 'read',
    summary: 'Reads one mirrored connection.',
    description:
      'As the connector knows it from lists, details and events. A deleted one is shown with `deletedAt`.',
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, 'not_found'],
  },
  mapCustomer: {
    method: 'PUT',
    path: '/v1/connections/{id}/customer',
    right: 'write',
    summary: 'Maps a connection to a customer record of the CRM.',
    description:
      'The mapping is yours: no poll and no event touches it. Messages of the connection show it as `customerRef`.',
    body: { schema: connections.mapCustomerRequest, required: true },
    answers: [{ status: 200, description: 'Mapped.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found'],
  },
  createConnection: {
    method: 'POST',
    path: '/v1/connections',
    right: 'write',
    summary:
      'Creates a connection at the service. Lost answers are asked for again, and no second one is made.',
    description:
      '`qr` connections of standalone workspaces only. Send an `Idempotency-Key`, so that a repeat after a lost answer is the same request. Then open `GET /v1/connections/{id}/pairing` and have its owner scan the picture: slot and trial begin when a number pairs.',
    requestHeaders: [
      {
        name: HEADERS.idempotencyKey,
        description:
          "The CRM's own key, at most 255 characters: the same request again answers the same connection.",
      },
    ],
    body: { schema: connections.createConnectorConnectionRequest, required: false },
    answers: [
      { status: 201, description: 'Created.', schema: connections.createdConnectorConnection },
      {
        status: 200,
        description: 'Created before, by the same key.',
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
    summary: 'Deletes a connection at the service, for good. A repeat is fine.',
    description: 'Its slot goes back to the pool with its remaining time. Its messages stay here.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Deleted.', schema: acknowledgement }],
    errors: callErrors,
  },
  restartConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/restart',
    right: 'write',
    summary: 'Restarts the session of a connection.',
    description: 'For one that is disconnected. It may have to be paired again: open the stream of pictures.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Restarted.', schema: restartAnswer }],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  logoutConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/logout',
    right: 'write',
    summary: 'Logs the session of a connection out.',
    description: 'The connection is kept. To come back, restart it and pair it again.',
    query: accountQuery,
    answers: [{ status: 200, description: 'Logged out.', schema: acknowledgement }],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  streamPairing: {
    method: 'GET',
    path: '/v1/connections/{id}/pairing',
    right: 'write',
    summary: 'Streams each fresh pairing picture until the connection is connected.',
    description:
      'The service is asked every 3 to 5 s while somebody looks. Show each picture in place of the one before.',
    query: accountQuery,
    answers: [
      {
        status: 200,
        description:
          'Server-sent events, told apart by `type`. Comments are heartbeats. Close it after `connected` and `ended`: an `EventSource` would come back.',
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
    summary: 'Asks for a code that the owner types in place of scanning.',
    description:
      'An alternative to the picture, for a phone that cannot scan. At most 5 codes in 15 minutes; a code that the service declines leaves the picture.',
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
    description: 'Tells the sender that its messages were read. A repeat changes nothing.',
    body: { schema: connections.connectorReadReceiptRequest, required: true },
    answers: [{ status: 200, description: 'Marked.', schema: readReceiptAnswer }],
    errors: [...callErrors, 'payload_too_large', 'addon_required', 'license_inactive'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
