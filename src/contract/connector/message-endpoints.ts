import { API_ERRORS, BODY_ERRORS, type ConnectorEndpoint } from './connector-endpoint.ts';
import * as messages from './messages.ts';
import { listOutboundQuery, outbound, outboundList } from './outbound.ts';
import { messageTrace, TRACE_ENTRIES } from './trace.ts';

/** Stored messages, and sends. */
export const MESSAGE_ENDPOINTS = {
  listMessages: {
    method: 'GET',
    path: '/v1/messages',
    right: 'read',
    summary: 'Lists stored messages, newest first.',
    description:
      'Sorted by `createdAt`, across all connections unless filtered. Includes incoming and outgoing messages, and messages that this connector did not send.',
    query: messages.listConnectorMessagesQuery,
    answers: [{ status: 200, description: 'A page.', schema: messages.connectorMessageList }],
    errors: [...API_ERRORS, 'invalid_request', 'search_off', 'search_too_broad'],
  },
  getMessage: {
    method: 'GET',
    path: '/v1/messages/{id}',
    right: 'read',
    summary: 'Returns one stored message.',
    description: 'Looked up by the id that the service assigned.',
    answers: [{ status: 200, description: 'The message.', schema: messages.connectorMessage }],
    errors: [...API_ERRORS, 'not_found'],
  },
  namePeer: {
    method: 'PUT',
    path: '/v1/messages/{id}/peer',
    right: 'write',
    summary: 'Names the other party of a message that the service has not named.',
    description:
      'For messages that only a poll has found. The feed reports it as `message.updated`. It can be repeated with another number. If the service names the other party later, that replaces the number.',
    body: { schema: messages.namePeerRequest, required: true },
    answers: [{ status: 200, description: 'The message.', schema: messages.connectorMessage }],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found', 'peer_known'],
  },
  erasePerson: {
    method: 'DELETE',
    path: '/v1/people/{id}',
    right: 'operate',
    summary: 'Erases a person, under all spellings of the number.',
    description:
      'Removes the kept files, then the number, texts, addresses of files and references from messages, changes, kept deliveries, sends and errors of consumers. Queued sends to the person are deleted. The ids of the messages stay, so that polling brings nothing back. The feed tells consumers the ids with `person.erased`. A message that the person writes later is stored. It can be repeated.',
    answers: [{ status: 200, description: 'Erased.', schema: messages.erasedPerson }],
    errors: [
      ...API_ERRORS,
      'invalid_request',
      'send_in_progress',
      'media_store_off',
      'media_store_unreachable',
    ],
  },
  getMessageMedia: {
    method: 'GET',
    path: '/v1/messages/{id}/media',
    right: 'read',
    summary: 'Downloads the file of a message as an attachment.',
    description:
      'If the connector keeps a copy (`mediaCopy`), it is read from there: from the disk, or through a link to the bucket that is signed for this request and valid for 5 minutes. Otherwise the file is fetched from the service on request, without following redirects, up to 16 MB and for at most two minutes. The content type is replaced by one that browsers do not execute.',
    answers: [
      { status: 200, description: 'The bytes.', contentType: 'application/octet-stream' },
      {
        status: 302,
        description: 'The bytes are in the bucket.',
        headers: [{ name: 'Location', description: 'The signed link.', required: true }],
      },
    ],
    errors: [...API_ERRORS, 'not_found', 'no_media', 'media_gone', 'media_refused', 'service_unreachable'],
  },
  keepMessageMedia: {
    method: 'POST',
    path: '/v1/messages/{id}/media',
    right: 'write',
    summary: 'Asks for a copy of a file that is not kept.',
    description:
      'For a copy that is `gone` or `failed`, and for a message that was stored before files were kept. The worker fetches it; the feed reports `mediaCopy` as `message.updated`. A copy that is `pending` or `stored` stays as it is.',
    answers: [{ status: 200, description: 'The message.', schema: messages.connectorMessage }],
    errors: [...API_ERRORS, 'not_found', 'no_media', 'media_store_off'],
  },
  getMessageTrace: {
    method: 'GET',
    path: '/v1/messages/{id}/trace',
    right: 'read',
    summary: 'Lists every delivery, poll and send that touched a message, and what each changed.',
    description: `Explains why a message looks as it does or arrived late. It covers only the days that the inbox is kept (\`INBOX_RETENTION_DAYS\`), and at most the newest ${TRACE_ENTRIES} entries.`,
    answers: [{ status: 200, description: 'The trace, oldest first.', schema: messageTrace }],
    errors: [...API_ERRORS, 'not_found'],
  },
  queueMessage: {
    method: 'POST',
    path: '/v1/messages',
    right: 'write',
    summary: 'Queues a send. Repeating the same reference refers to the same send.',
    description:
      'Returns once the send is committed, before the service is called. Each connection sends one message at a time, in the order of the requests. Follow the outcome in the feed (`outbound.updated`) or with `GET /v1/outbound/{id}`.',
    body: { schema: messages.queueMessageRequest, required: true },
    answers: [
      { status: 202, description: 'Queued now or by an earlier request.', schema: messages.queuedMessage },
    ],
    errors: [...API_ERRORS, ...BODY_ERRORS, 'not_found', 'reference_reused'],
  },
  listOutbound: {
    method: 'GET',
    path: '/v1/outbound',
    right: 'read',
    summary: 'Lists sends, newest first.',
    description: 'Queued, running and finished sends. A finished send is deleted after 90 days.',
    query: listOutboundQuery,
    answers: [{ status: 200, description: 'A page.', schema: outboundList }],
    errors: [...API_ERRORS, 'invalid_request'],
  },
  getOutbound: {
    method: 'GET',
    path: '/v1/outbound/{id}',
    right: 'read',
    summary: 'Returns one send.',
    description: '`state` describes what is known for certain.',
    answers: [{ status: 200, description: 'The send.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found'],
  },
  cancelOutbound: {
    method: 'DELETE',
    path: '/v1/outbound/{id}',
    right: 'write',
    summary: 'Cancels a send that is still queued.',
    description: 'Returns 409 once an attempt with an uncertain outcome has started.',
    answers: [{ status: 200, description: 'Cancelled.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found', 'not_cancellable'],
  },
  retryOutbound: {
    method: 'POST',
    path: '/v1/outbound/{id}/retry',
    right: 'operate',
    summary: 'Retries an unknown or rejected send at the request of an operator.',
    description:
      'An `unknown` send may have gone out: check the messages first. A text is retried with the same key within 23 hours of its first attempt, so it is sent only once. A file, or a later retry, may be delivered twice.',
    answers: [{ status: 202, description: 'Queued again.', schema: outbound }],
    errors: [...API_ERRORS, 'not_found', 'not_retryable'],
  },
} as const satisfies Readonly<Record<string, ConnectorEndpoint>>;
