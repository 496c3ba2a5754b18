import { acknowledgement } from '../service/connections.ts';
import { API_ERRORS, BODY_ERRORS, type ConnectorEndpoint } from './connector-endpoint.ts';
import * as consumers from './consumers.ts';

const known = [...API_ERRORS, 'not_found'] as const;
const found = [{ status: 200, description: 'The consumer.', schema: consumers.consumer }] as const;

/** What receives the changes of the feed: the CRM's handler, HTTPS addresses and queues. */
export const CONSUMER_ENDPOINTS = {
  listConsumers: {
    method: 'GET',
    path: '/v1/consumers',
    right: 'read',
    summary: 'Lists the consumers with their progress.',
    description:
      'By name. The consumer `handler` exists as soon as a process has loaded handlers. A secret is never returned.',
    query: consumers.listConsumersQuery,
    answers: [{ status: 200, description: 'A page.', schema: consumers.consumerList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  createConsumer: {
    method: 'POST',
    path: '/v1/consumers',
    right: 'operate',
    summary: 'Creates a consumer, which runs at once.',
    description:
      'Kind `http` or `bullmq`. The secret of an `http` consumer is only in this response; if the response is lost, rotate the secret. A `bullmq` consumer is created only if its Redis answers.',
    example: { name: 'crm', kind: 'http', url: 'https://crm.example.com/changes', batch: 50 },
    body: { schema: consumers.createConsumerRequest, required: true },
    answers: [{ status: 201, description: 'Created.', schema: consumers.createdConsumer }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'consumer_exists', 'consumer_is_handler', 'redis_unreachable'],
  },
  getConsumer: {
    method: 'GET',
    path: '/v1/consumers/{id}',
    right: 'read',
    summary: 'Returns one consumer with its progress.',
    description: 'How far it is behind, and which connections it could not be called with.',
    answers: found,
    errors: known,
  },
  changeConsumer: {
    method: 'PATCH',
    path: '/v1/consumers/{id}',
    right: 'operate',
    summary: 'Changes settings of a consumer.',
    description:
      'Absent fields stay as they are. Its place stays, so a wider filter applies to later changes only; replay it to receive earlier ones.',
    body: { schema: consumers.changeConsumerRequest, required: true },
    answers: found,
    errors: [...known, ...BODY_ERRORS, 'redis_unreachable'],
  },
  deleteConsumer: {
    method: 'DELETE',
    path: '/v1/consumers/{id}',
    right: 'operate',
    summary: 'Deletes a consumer with its dead letters.',
    description:
      'The changes stay in the feed. `handler` cannot be deleted while a process has handlers: it would create it again and skip what came in between.',
    answers: [{ status: 200, description: 'Deleted.', schema: acknowledgement }],
    errors: [...known, 'consumer_is_handler'],
  },
  pauseConsumer: {
    method: 'POST',
    path: '/v1/consumers/{id}/pause',
    right: 'operate',
    summary: 'Pauses a consumer.',
    description:
      'Calls in progress end, and no others begin; all processes know it within seconds. Its place is kept. A consumer that is paused or disabled stays as it is.',
    answers: found,
    errors: known,
  },
  resumeConsumer: {
    method: 'POST',
    path: '/v1/consumers/{id}/resume',
    right: 'operate',
    summary: 'Continues a paused or disabled consumer where it stopped.',
    description: 'A consumer that runs stays as it is.',
    answers: found,
    errors: known,
  },
  replayConsumer: {
    method: 'POST',
    path: '/v1/consumers/{id}/replay',
    right: 'operate',
    summary: 'Has a consumer begin at another position.',
    description:
      'Changes from there on are delivered, again if they were delivered before, with the same keys. Changes of parked connections before the position are still delivered, except with `now`, which skips everything that waits. Changes that are dead letters are replayed by themselves. A paused consumer stays paused.',
    body: { schema: consumers.replayConsumerRequest, required: true },
    answers: found,
    errors: [...known, ...BODY_ERRORS],
  },
  rotateConsumerSecret: {
    method: 'POST',
    path: '/v1/consumers/{id}/rotate-secret',
    right: 'operate',
    summary: 'Replaces the secret of an `http` consumer.',
    description:
      'For 24 hours, requests carry a signature with the old secret as well, so that the receiver can be changed in the meantime.',
    body: { schema: consumers.rotateConsumerSecretRequest, required: false },
    answers: [{ status: 200, description: 'Rotated.', schema: consumers.rotatedConsumerSecret }],
    errors: [...known, ...BODY_ERRORS, 'no_secret'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
