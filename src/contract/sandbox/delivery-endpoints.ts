import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import { apiCall, apiCallList, listCallsQuery, sandboxEvent } from './calls.ts';
import * as deliveries from './deliveries.ts';
import { sandboxPageQuery } from './lists.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';
import * as signatures from './signatures.ts';

/** What the service delivered, what it meant to deliver, and the calls that it received. */
export const DELIVERY_ENDPOINTS = defineEndpoints({
  listDeliveries: {
    method: 'GET',
    path: '/deliveries',
    summary: 'Lists deliveries with their attempts, newest first.',
    query: deliveries.listDeliveriesQuery,
    answers: [{ status: 200, description: 'A page.', schema: deliveries.deliveryList }],
  },
  countDeliveries: {
    method: 'GET',
    path: '/deliveries/counts',
    summary: 'Counts deliveries by outcome.',
    query: deliveries.countDeliveriesQuery,
    answers: [{ status: 200, description: 'The counts.', schema: deliveries.deliveryCounts }],
  },
  readDelivery: {
    method: 'GET',
    path: '/deliveries/{id}',
    summary: 'Returns a delivery with its attempts.',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveries.delivery }],
  },
  resendDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/resend',
    summary: 'Resends a delivery, by default with the same bytes.',
    body: { schema: deliveries.resendRequest, required: false },
    answers: [
      { status: 200, description: 'The delivery with its new attempts.', schema: deliveries.delivery },
    ],
    errors: ['wrong_state'],
  },
  copyDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/copies',
    summary:
      "Sends a copy of a delivery, changed and signed with the webhook's current secret. The copy is a delivery of its own, with `copyOf`: it is attempted up to three times and is subject to faults, but it is not part of the ledger and changes nothing in the service.",
    body: { schema: deliveries.copyRequest, required: false },
    answers: [
      {
        status: 201,
        description: 'The copy, which waits for its first attempt.',
        schema: deliveries.delivery,
      },
    ],
    errors: ['wrong_state'],
  },
  explainSignature: {
    method: 'POST',
    path: '/deliveries/{id}/explain-signature',
    summary:
      'Compares a signature that your server computed with the one that was sent, and finds the mistake that leads to it: parsed and serialized again, another secret, the timestamp left out, and more. The secret is not shown.',
    body: { schema: signatures.explainSignatureRequest, required: true },
    answers: [{ status: 200, description: 'The explanation.', schema: signatures.signatureExplanation }],
    errors: ['wrong_state'],
  },
  holdDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/hold',
    summary:
      'Holds a pending delivery before its next attempt. An attempt in flight is completed. A delivery that has started keeps its bytes and signature, which become stale; one that has not started is signed when it is released.',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveries.delivery }],
    errors: ['wrong_state'],
  },
  releaseDelivery: {
    method: 'POST',
    path: '/deliveries/{id}/release',
    summary:
      'Releases a held delivery: it continues at once, or when the delay before its next attempt is over.',
    answers: [{ status: 200, description: 'The delivery.', schema: deliveries.delivery }],
    errors: ['wrong_state'],
  },
  readLedger: {
    method: 'GET',
    path: '/ledger',
    summary: 'Lists every event that the service meant to deliver, in order.',
    query: deliveries.readLedgerQuery,
    answers: [{ status: 200, description: 'A page.', schema: deliveries.ledger }],
  },
  listWebhooks: {
    method: 'GET',
    path: '/webhooks',
    summary: 'Lists the webhooks of workspaces and apps with their last deliveries, newest change first.',
    query: z.strictObject(sandboxPageQuery),
    answers: [{ status: 200, description: 'A page.', schema: deliveries.webhookList }],
  },
  listHosts: {
    method: 'GET',
    path: '/hosts',
    summary: 'Lists the open tunnels.',
    answers: [{ status: 200, description: 'All open tunnels.', schema: deliveries.tunnelHostList }],
  },
  putHost: {
    method: 'PUT',
    path: '/hosts/{host}',
    summary: 'Opens a tunnel: deliveries to this public host are sent to the target.',
    body: { schema: deliveries.putHostRequest, required: true },
    answers: [{ status: 200, description: 'The tunnel.', schema: deliveries.tunnelHost }],
  },
  deleteHost: {
    method: 'DELETE',
    path: '/hosts/{host}',
    summary: 'Closes a tunnel.',
    answers: [{ status: 200, description: 'Closed.', schema: acknowledgement }],
    errors: ['not_found'],
  },
  listCalls: {
    method: 'GET',
    path: '/calls',
    summary: 'Lists calls to the service with the reason for each response, newest first.',
    query: listCallsQuery,
    answers: [{ status: 200, description: 'A page.', schema: apiCallList }],
  },
  readCall: {
    method: 'GET',
    path: '/calls/{id}',
    summary: 'Returns a call with the reason for its response. Only the latest calls are kept.',
    answers: [{ status: 200, description: 'The call.', schema: apiCall }],
  },
  streamEvents: {
    method: 'GET',
    path: '/events',
    summary:
      'Streams ledger entries, deliveries, calls, clock changes and the changes of the attached connector as they happen.',
    answers: [
      {
        status: 200,
        description: 'Server-sent events, discriminated by `type`.',
        contentType: 'text/event-stream',
        schema: sandboxEvent,
      },
    ],
  },
});
