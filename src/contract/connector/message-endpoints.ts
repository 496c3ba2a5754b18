import { API_ERRORS, BODY_ERRORS, type ConnectorEndpoint } from './connector-endpoint.ts';
import * as messages from './messages.ts';
import { listOutboundQuery, outbound, outboundList } from './outbound.ts';
import { messageTrace, messageTraceQuery } from './trace.ts';

/** Stored messages and sends under way. */
export const MESSAGE_ENDPOINTS = {
  listMessages: {
    method: 'GET',
    path: '/v1/messages',
    right: 'read',
    summary: 'Lists stored messages, newest first.',
    description:
      'By `createdAt`, from all connections unless told. Incoming and outgoing ones, those included that were not sent by this connector.',
    query: messages.listConnectorMessagesQuery,
    answers: [{ status: 200, description: 'A page.', schema: messages.connectorMessageList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getMessage: {
    method: 'GET',
    path: '/v1/messages/{id}',
    right: 'read',
    summary: 'Reads one stored message.',
    description: 'By the id that the service gave it.',
    answers: [{ status: 200, description: 'The message.', schema: messages.connectorMessage }],
    errors: [...API_ERRORS, 'not_found'],
  },
  getMessageMedia: {
    method: 'GET',
    path: '/v1/messages/{id}/media',
    right: 'read',
    summary: 'Fetches the file of a message, as an attachment.',
    description:
      'Fetched from the service when it is asked for, without a redirect, up to 16 MB and for two minutes; nothing is kept. The type is made harmless for browsers.',
    answers: [{ status: 200, description: 'The bytes.', contentType: 'application/octet-stream' }],
    errors: [...API_ERRORS, 'not_found', 'no_media', 'media_gone', 'media_refused', 'service_unreachable'],
  },
  getMessageTrace: {
    method: 'GET',
    path: '/v1/messages/{id}/trace',
    right: 'read',
    summary: 'Tells every delivery, poll and send that touched a message, and what each changed.',
    description:
      'For a person who asks why a message looks as it does, or came late. What is older than the kept days of the inbox (`INBOX_RETENTION_DAYS`) is not in it.',
    query: messageTraceQuery,
    answers: [{ status: 200, description: 'The trace, oldest first.', schema: messageTrace }],
    errors: [...API_ERRORS, 'invalid_request', 'not_found'],
  },
  queueMessage: {
    method: 'POST',
    path: '/v1/messages',
    right: 'write',
    summary: 'Queues a send. The same reference again is the same send.',
    description:
      'Answers once the send is committed, before the service is called. A connection sends one by one, in the order of the requests. What becomes of it is in the feed (`outbound.updated`) and at `GET /v1/outbound/{id}`.',
    body: { schema: messages.queueMessageRequest, required: true },
    answers: [{ status: 202, description: 'Queued, or queued before.', schema: messages.queuedMessage }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found', 'reference_reused'],
  },
  listOutbound: {
    method: 'GET',
    path: '/v1/outbound',
    right: 'read',
    summary: 'Lists sends, newest first.',
    description:
      'Those that wait, that are under way and that are over. One that is over is forgotten after 90 days.',
    query: listOutboundQuery,
    answers: [{ status: 200, description: 'A page.', schema: outboundList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getOutbound: {
    method: 'GET',
    path: '/v1/outbound/{id}',
    right: 'read',
    summary: 'Reads one send.',
    description: '`state` says what is certain of it.',
    answers: [{ status: 200, description: 'The send.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found'],
  },
  cancelOutbound: {
    method: 'DELETE',
    path: '/v1/outbound/{id}',
    right: 'write',
    summary: 'Cancels a send that is still queued.',
    description: '409 once an attempt has begun whose outcome is not certain.',
    answers: [{ status: 200, description: 'Cancelled.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found', 'not_cancellable'],
  },
  retryOutbound: {
    method: 'POST',
    path: '/v1/outbound/{id}/retry',
    right: 'operate',
    summary: 'Tries an unknown or rejected send again, on the word of an operator.',
    description:
      'An `unknown` one may have gone out: look at the messages first. A text is repeated with the same key within 23 hours of its first attempt, so it goes out once; a file, or a later repeat, may arrive twice.',
    answers: [{ status: 202, description: 'Queued again.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found', 'not_retryable'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
