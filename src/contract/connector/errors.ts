import { z } from 'zod';
import type { RefusalDefinition } from '../schema/endpoint.ts';
import { feedPosition } from './lists.ts';

/**
 * The connector's own error codes. Calls that are passed on to the service may also return the service's
 * codes.
 */
export const CONNECTOR_ERRORS = {
  invalid_request: { status: 400, meaning: 'The input is invalid; `message` names the field.' },
  account_required: { status: 400, meaning: 'There are several accounts; specify one with `accountId`.' },
  unauthorized: { status: 401, meaning: 'The bearer token is missing or invalid.' },
  missing_right: {
    status: 403,
    meaning: 'The token lacks the right that the call requires; `message` names it.',
  },
  invalid_signature: { status: 401, meaning: 'The delivery has no valid, recent signature of the service.' },
  foreign_host: {
    status: 403,
    meaning: 'The connector only accepts requests addressed to this machine, and `Host` names another host.',
  },
  not_found: { status: 404, meaning: 'The path does not exist, or no object has this id.' },
  no_media: { status: 404, meaning: 'The message has no file, or its file cannot be fetched.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method.' },
  request_timeout: { status: 408, meaning: 'The body did not arrive in time.' },
  reference_reused: { status: 409, meaning: 'The reference was already used with a different body.' },
  idempotency_key_reused: { status: 409, meaning: 'The key was already used with a different body.' },
  beyond_feed: {
    status: 409,
    meaning:
      '`after` is beyond the end of the feed: it belongs to another feed. `feedId` and `lastSeq` describe the current feed.',
  },
  search_off: {
    status: 409,
    meaning: 'The index of texts does not exist; `message` says how to create it.',
  },
  search_too_broad: { status: 409, meaning: 'The search took longer than 2 s; narrow it.' },
  creation_unknown: {
    status: 409,
    meaning: 'It is unknown whether the connection was created, and the key has expired.',
  },
  peer_known: { status: 409, meaning: 'The service has named the other party of the message.' },
  not_cancellable: { status: 409, meaning: 'The send is no longer queued.' },
  not_retryable: { status: 409, meaning: 'Only an `unknown` or `rejected` send can be retried.' },
  media_store_off: { status: 409, meaning: 'No store of files is configured (`MEDIA_STORE`).' },
  send_in_progress: { status: 409, meaning: 'A send to the person is in progress.' },
  account_exists: { status: 409, meaning: 'This credential already belongs to an account.' },
  account_configured: {
    status: 409,
    meaning: 'This account is configured in the environment; remove it there.',
  },
  consumer_exists: { status: 409, meaning: 'There is already a consumer with this name.' },
  consumer_is_handler: {
    status: 409,
    meaning:
      'The consumer `handler` follows the handlers of the processes: they create it, and it cannot be deleted while one has handlers.',
  },
  no_secret: { status: 409, meaning: 'Only an `http` consumer has a secret.' },
  oauth_not_configured: { status: 409, meaning: 'OAuth is not configured for this connector.' },
  reauth_required: { status: 409, meaning: 'The grant has ended; the customer must consent again.' },
  webhook_of_app: {
    status: 409,
    meaning: 'The webhook belongs to the OAuth app; rotate its secret where the app is registered.',
  },
  rotation_in_progress: { status: 409, meaning: 'The secret is already being registered or rotated.' },
  changes_deleted: {
    status: 410,
    meaning:
      'Changes after `after` were deleted by `CHANGE_RETENTION_DAYS`; `firstSeq` is the first number that is kept. List the messages again, then continue there.',
  },
  media_gone: { status: 410, meaning: 'The service no longer has the file.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the connector accepts.' },
  internal_error: { status: 500, meaning: 'The connector failed; see its log.' },
  service_refused: { status: 502, meaning: 'The service rejected the call; `message` contains its code.' },
  service_unreachable: { status: 502, meaning: 'The service did not answer.' },
  media_store_unreachable: { status: 502, meaning: 'The store of files did not answer, or refused.' },
  redis_unreachable: { status: 502, meaning: 'The Redis of the queue did not answer.' },
  media_refused: {
    status: 502,
    meaning: 'The file was not fetched because its address, size or response is not safe.',
  },
  unavailable: { status: 503, meaning: 'The database is not available; retry after `Retry-After`.' },
  sync_unfinished: { status: 504, meaning: 'Not everything has been read yet; polling continues.' },
} as const satisfies Readonly<Record<string, RefusalDefinition>>;

export type ConnectorErrorCode = keyof typeof CONNECTOR_ERRORS;

/** The body of every error: a code for programs and a message for people, which names the field. */
export const connectorErrorBody = z.object({
  error: z.string().min(1).describe('Machine-readable code.'),
  message: z.string().min(1).describe('What is wrong, in one sentence.'),
  feedId: feedPosition.feedId
    .optional()
    .describe('Id of the current feed; only with `beyond_feed` and `changes_deleted`.'),
  lastSeq: feedPosition.lastSeq
    .optional()
    .describe('Number of the newest change; only with `beyond_feed` and `changes_deleted`.'),
  firstSeq: feedPosition.lastSeq
    .optional()
    .describe('First number that is kept; only with `changes_deleted`.'),
});
