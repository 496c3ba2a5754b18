import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import { webhookEvent } from '../service/events.ts';
import { HEADERS } from '../service/headers.ts';
import { DELIVERY_MAX_MS } from '../service/limits.ts';
import { rotatedSecret, rotateSecretRequest } from './accounts.ts';
import {
  API_ERRORS,
  BODY_ERRORS,
  type ConnectorEndpoint,
  SERVICE_CALL_ERRORS,
} from './connector-endpoint.ts';
import { listDeliveriesQuery, receivedDeliveryList } from './received.ts';
import { healthAnswer } from './sync.ts';

/** How long deliveries that were signed with a replaced secret are accepted: all attempts, and a margin. */
export const PREVIOUS_SECRET_ACCEPTED_MS = DELIVERY_MAX_MS + 3_500;

const signatureHeaders = [
  { name: HEADERS.timestamp, description: 'Epoch milliseconds, 13 digits.', required: true },
  { name: HEADERS.signature, description: '`sha256=` and 64 hex digits.', required: true },
];

const receiverErrors = [
  'not_found',
  'payload_too_large',
  'request_timeout',
  'invalid_signature',
  'invalid_request',
  'unavailable',
] as const;

const received = [
  { status: 200, description: 'Committed now, or a copy of a known event.', schema: acknowledgement },
] as const;

/** The webhook receiver, the rotation of its secret, and the endpoints for operators and probes. */
export const WEBHOOK_ENDPOINTS = {
  receiveWebhook: {
    method: 'POST',
    path: '/webhooks/messaging',
    summary: 'Receives a delivery of the first subscription.',
    description:
      'Called by the service. It returns 2xx only after the event is committed, also for a copy of a known event. The signature is verified over the raw bytes before they are parsed.',
    credential: false,
    requestHeaders: signatureHeaders,
    body: { schema: webhookEvent, required: true },
    answers: received,
    errors: receiverErrors,
  },
  receiveSubscriptionWebhook: {
    method: 'POST',
    path: '/webhooks/messaging/{subscriptionId}',
    summary: 'Receives a delivery of one subscription.',
    description:
      'Like `/webhooks/messaging`, for each further account and for an OAuth app. The path is `webhookPath` of the account.',
    credential: false,
    requestHeaders: signatureHeaders,
    body: { schema: webhookEvent, required: true },
    answers: received,
    errors: receiverErrors,
  },
  listDeliveries: {
    method: 'GET',
    path: '/v1/deliveries',
    right: 'read',
    summary: 'Lists the newest requests to the webhook receiver, and how each was answered.',
    description:
      'The newest 500 accepted and 500 refused ones, newest first, without their bodies. Under load it is a sample: of each 2 s, each process keeps the newest 25 of both. `GET /v1/statistics` counts all of them.',
    query: listDeliveriesQuery,
    answers: [{ status: 200, description: 'The newest requests.', schema: receivedDeliveryList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  rotateSecret: {
    method: 'POST',
    path: '/v1/webhook/rotate',
    right: 'operate',
    summary: 'Rotates the signing secret without losing events.',
    description: `The service invalidates the old secret at once. The connector accepts deliveries that were signed with it for another ${PREVIOUS_SECRET_ACCEPTED_MS / 1_000} s, unless \`compromised\` is true.`,
    body: { schema: rotateSecretRequest, required: false },
    answers: [{ status: 200, description: 'Rotated.', schema: rotatedSecret }],
    errors: [
      ...API_ERRORS,
      ...BODY_ERRORS,
      'not_found',
      'webhook_of_app',
      'rotation_in_progress',
      ...SERVICE_CALL_ERRORS,
    ],
  },
  healthz: {
    method: 'GET',
    path: '/healthz',
    summary: 'Reports whether the process is running.',
    description:
      'Liveness: true as long as the process responds. It does not check the database or the service.',
    credential: false,
    answers: [{ status: 200, description: 'The process is running.', schema: healthAnswer }],
    errors: [],
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    summary: 'Reports whether the process is ready to serve.',
    description:
      'Readiness, for a load balancer: the database, the settings, and the first registration of the webhook. Checked at most once a second; needs no token.',
    credential: false,
    answers: [
      { status: 200, description: 'Ready.', schema: healthAnswer },
      { status: 503, description: 'Not ready; the log states why.', schema: healthAnswer },
    ],
    errors: [],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    right: 'metrics',
    summary: 'Metrics in the Prometheus text format.',
    description: 'Needs a token with the right `metrics`. Rendered at most once a second.',
    answers: [{ status: 200, description: 'The metrics.', contentType: 'text/plain', schema: z.string() }],
    errors: ['unauthorized', 'missing_right'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
