import {
  acknowledgement,
  createdConnectionAnswer,
  pairingCodeAnswer,
  restartAnswer,
} from '../service/connections.ts';
import { readReceiptAnswer } from '../service/messages.ts';
import * as connections from './connections.ts';
import {
  API_ERRORS,
  BODY_ERRORS,
  type ConnectorEndpoint,
  SERVICE_CALL_ERRORS,
} from './connector-endpoint.ts';

const callErrors = [...API_ERRORS, ...SERVICE_CALL_ERRORS, 'not_found'] as const;

/** The mirror of the connections, and what the CRM does with them. */
export const CONNECTION_ENDPOINTS = {
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    summary: 'Lists the mirrored connections.',
    query: connections.listConnectorConnectionsQuery,
    answers: [{ status: 200, description: 'A page.', schema: connections.connectorConnectionList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getConnection: {
    method: 'GET',
    path: '/v1/connections/{id}',
    summary: 'Reads one mirrored connection.',
    answers: [{ status: 200, description: 'The connection.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, 'not_found'],
  },
  mapCustomer: {
    method: 'PUT',
    path: '/v1/connections/{id}/customer',
    summary: 'Maps a connection to a customer record of the CRM.',
    body: { schema: connections.mapCustomerRequest, required: true },
    answers: [{ status: 200, description: 'Mapped.', schema: connections.connectorConnection }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found'],
  },
  createConnection: {
    method: 'POST',
    path: '/v1/connections',
    summary: 'Creates a connection at the service, once, however often the call is repeated inside.',
    body: { schema: connections.createConnectorConnectionRequest, required: false },
    answers: [{ status: 201, description: 'Created.', schema: createdConnectionAnswer }],
    errors: [...API_ERRORS, ...BODY_ERRORS, ...SERVICE_CALL_ERRORS, 'forbidden_portal_kind', 'invalid_grant'],
  },
  deleteConnection: {
    method: 'DELETE',
    path: '/v1/connections/{id}',
    summary: 'Deletes a connection at the service, for good.',
    answers: [{ status: 200, description: 'Deleted.', schema: acknowledgement }],
    errors: callErrors,
  },
  restartConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/restart',
    summary: 'Restarts the session of a connection.',
    answers: [{ status: 200, description: 'Restarted.', schema: restartAnswer }],
    errors: callErrors,
  },
  logoutConnection: {
    method: 'POST',
    path: '/v1/connections/{id}/logout',
    summary: 'Logs the session of a connection out.',
    answers: [{ status: 200, description: 'Logged out.', schema: acknowledgement }],
    errors: callErrors,
  },
  streamPairing: {
    method: 'GET',
    path: '/v1/connections/{id}/pairing',
    summary: 'Streams each fresh pairing picture until the connection is connected.',
    answers: [
      {
        status: 200,
        description: 'Server-sent events; the data of each is the status and the picture.',
        contentType: 'text/event-stream',
        schema: connections.pairingEvent,
      },
    ],
    errors: [...callErrors, 'not_supported_for_provider'],
  },
  requestPairingCode: {
    method: 'POST',
    path: '/v1/connections/{id}/pairing-code',
    summary: 'Asks for a code that the owner types in place of scanning.',
    body: { schema: connections.connectorPairingCodeRequest, required: true },
    answers: [{ status: 200, description: 'A new code.', schema: pairingCodeAnswer }],
    errors: [
      ...callErrors,
      ...BODY_ERRORS,
      'invalid_phone_number',
      'already_connected',
      'not_supported_for_provider',
      'pairing_code_unavailable',
    ],
  },
  sendReadReceipt: {
    method: 'POST',
    path: '/v1/read-receipts',
    summary: 'Marks messages as read.',
    body: { schema: connections.connectorReadReceiptRequest, required: true },
    answers: [{ status: 200, description: 'Marked.', schema: readReceiptAnswer }],
    errors: [...callErrors, ...BODY_ERRORS, 'addon_required', 'license_inactive'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
