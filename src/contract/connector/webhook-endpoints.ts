import { z } from 'zod';
import { acknowledgement } from '../service/connections.ts';
import { webhookEvent } from '../service/events.ts';
import { HEADERS } from '../service/headers.ts';
import { rotatedSecret, rotateSecretRequest } from './accounts.ts';
import {
  API_ERRORS,
  BODY_ERRORS,
  type ConnectorEndpoint,
  SERVICE_CALL_ERRORS,
} from './connector-endpoint.ts';
import { healthAnswer } from './sync.ts';

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
  { status: 200, description: 'Committed, or known already.', schema: acknowledgement },
] as const;

/** The webhook receiver, the rotation of its secret, and what operators and probes read. */
export const WEBHOOK_ENDPOINTS = {
  receiveWebhook: {
    method: 'POST',
    path: '/webhooks/messaging',
    summary: 'Takes a delivery of the first subscription.',
    description:
      'The service calls it. 2xx only once the event is committed; a copy of a known event is 200, too. The signature is checked over the raw bytes, before they are parsed.',
    credential: false,
    requestHeaders: signatureHeaders,
    body: { schema: webhookEvent, required: true },
    answers: received,
    errors: receiverErrors,
  },
  receiveSubscriptionWebhook: {
    method: 'POST',
    path: '/webhooks/messaging/{subscriptionId}',
    summary: 'Takes a delivery of one subscription.',
    description:
      'As `/webhooks/messaging`, for each further account, and for an OAuth app: the path is `webhookPath` of the account.',
    credential: false,
    requestHeaders: signatureHeaders,
    body: { schema: webhookEvent, required: true },
    answers: received,
    errors: receiverErrors,
  },
  rotateSecret: {
    method: 'POST',
    path: '/v1/webhook/rotate',
    right: 'operate',
    summary: 'Rotates the signing secret with no event lost.',
    description:
      'The service forgets the old secret at once; the connector takes deliveries that were signed with it for 35 s more, unless `compromised` is told.',
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
    summary: 'Says that the process runs.',
    description:
      'Liveness: true as long as the process answers. It asks neither the database nor the service.',
    credential: false,
    answers: [{ status: 200, description: 'It runs.', schema: healthAnswer }],
    errors: [],
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    summary: 'Says whether database and queue are at hand.',
    description:
      'Readiness, for a load balancer: database, queue, and the first registration of the webhook. Looked up once a second at most, and without a token.',
    credential: false,
    answers: [
      { status: 200, description: 'Ready.', schema: healthAnswer },
      { status: 503, description: 'Not ready; the log says why.', schema: healthAnswer },
    ],
    errors: [],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    right: 'metrics',
    summary: 'Figures in the text format of Prometheus.',
    description: 'By a token with the right `metrics`. Rendered once a second at most.',
    answers: [{ status: 200, description: 'The figures.', contentType: 'text/plain', schema: z.string() }],
    errors: ['unauthorized', 'missing_right'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
