import { acknowledgement } from '../service/connections.ts';
import { apiCallList, listCallsQuery, sandboxEvent } from './calls.ts';
import * as deliveries from './deliveries.ts';
import { READ_ERRORS, type SandboxEndpoint, WRITE_ERRORS } from './sandbox-endpoint.ts';

const onExisting = [...WRITE_ERRORS, 'not_found'] as const;

/** What the service sent, meant to send and was asked. */
export const DELIVERY_ENDPOINTS = {
  listDeliveries: {
    method: 'GET',
    path: '/deliveries',
    summary: 'Lists deliveries with their attempts, newest first.',
    query: deliveries.listDeliveriesQuery,
    answers: [{ status: 200, description: 'A page.', schema: deliveries.deliveryList }],
    errors: [...READ_ERRORS, 'invalid_request'],
  },
  resendDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/resend',
    summary: 'Sends the same bytes again.',
    body: { schema: deliveries.resendRequest, required: false },
    answers: [
      { status: 200, description: 'The delivery with its new attempts.', schema: deliveries.delivery },
    ],
    errors: [...onExisting, 'wrong_state'],
  },
  holdDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/hold',
    summary:
      'Holds a pending delivery before its next attempt. One under way goes to its end. What has begun keeps its bytes and signature, which grow old; what has not is signed when it is released.',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveries.delivery }],
    errors: [...onExisting, 'wrong_state'],
  },
  releaseDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/release',
    summary: 'Lets a held delivery go on: at once, unless the delay before its next attempt is not over.',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveries.delivery }],
    errors: [...onExisting, 'wrong_state'],
  },
  readLedger: {
    method: 'GET',
    path: '/ledger',
    summary: 'Lists every event that was meant to be delivered, in order.',
    query: deliveries.readLedgerQuery,
    answers: [{ status: 200, description: 'A page.', schema: deliveries.ledger }],
    errors: [...READ_ERRORS, 'invalid_request'],
  },
  listHosts: {
    method: 'GET',
    path: '/hosts',
    summary: 'Lists the tunnels that are open.',
    answers: [{ status: 200, description: 'All of them.', schema: deliveries.tunnelHostList }],
    errors: READ_ERRORS,
  },
  putHost: {
    method: 'PUT',
    path: '/hosts/{host}',
    summary: 'Opens a tunnel: deliveries to this public host go to the target.',
    body: { schema: deliveries.putHostRequest, required: true },
    answers: [{ status: 200, description: 'The tunnel.', schema: deliveries.tunnelHost }],
    errors: WRITE_ERRORS,
  },
  deleteHost: {
    method: 'DELETE',
    path: '/hosts/{host}',
    summary: 'Closes a tunnel.',
    answers: [{ status: 200, description: 'Closed.', schema: acknowledgement }],
    errors: [...READ_ERRORS, 'not_found'],
  },
  listCalls: {
    method: 'GET',
    path: '/calls',
    summary: 'Lists calls to the service and why they were answered so, newest first.',
    query: listCallsQuery,
    answers: [{ status: 200, description: 'A page.', schema: apiCallList }],
    errors: [...READ_ERRORS, 'invalid_request'],
  },
  streamEvents: {
    method: 'GET',
    path: '/events',
    summary: 'Streams all of it as it happens.',
    answers: [
      {
        status: 200,
        description: 'Server-sent events.',
        contentType: 'text/event-stream',
        schema: sandboxEvent,
      },
    ],
    errors: READ_ERRORS,
  },
} as const satisfies Readonly<Record<string, SandboxEndpoint>>;
