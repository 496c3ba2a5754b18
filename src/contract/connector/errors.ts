import { z } from 'zod';
import type { RefusalDefinition } from '../endpoint.ts';
import { feedPosition } from './lists.ts';

/** Codes of the connector's own refusals. Calls that pass on to the service may also answer its codes. */
export const CONNECTOR_ERRORS = {
  invalid_request: { status: 400, meaning: 'The input is wrong; `message` names the field.' },
  account_required: { status: 400, meaning: 'There are several accounts; `accountId` must say which.' },
  unauthorized: { status: 401, meaning: 'The bearer token is absent or wrong.' },
  missing_right: {
    status: 403,
    meaning: 'The token lacks the right that the call needs; `message` names it.',
  },
  invalid_signature: { status: 401, meaning: 'The delivery is not signed by the service, or not in time.' },
  foreign_host: {
    status: 403,
    meaning: 'The connector listens on this machine alone, and `Host` names another.',
  },
  not_found: { status: 404, meaning: 'No such address, or nothing with this id.' },
  no_media: { status: 404, meaning: 'The message has no file, or none that can be fetched.' },
  method_not_allowed: { status: 405, meaning: 'The address does not take this method.' },
  request_timeout: { status: 408, meaning: 'The body did not arrive in time.' },
  reference_reused: { status: 409, meaning: 'The reference was used before, with another body.' },
  idempotency_key_reused: { status: 409, meaning: 'The key was used before, with another body.' },
  beyond_feed: {
    status: 409,
    meaning:
      '`after` is beyond the end of the feed: it came from another database, or from before a restore. `feedId` and `lastSeq` say where this one stands.',
  },
  creation_unknown: { status: 409, meaning: 'Whether it was created is not known, and the key has run out.' },
  not_cancellable: { status: 409, meaning: 'The send is no longer queued.' },
  not_retryable: { status: 409, meaning: 'Only an `unknown` or `rejected` send can be tried again.' },
  account_exists: { status: 409, meaning: 'This credential belongs to an account already.' },
  account_configured: { status: 409, meaning: 'The environment names this account; remove it there.' },
  oauth_not_configured: { status: 409, meaning: 'This connector is no OAuth app: its settings name none.' },
  reauth_required: { status: 409, meaning: 'The grant has ended; the customer must consent again.' },
  webhook_of_app: {
    status: 409,
    meaning: 'The webhook belongs to the OAuth app; its secret is rotated where the app is registered.',
  },
  rotation_in_progress: { status: 409, meaning: 'The secret is being registered or rotated right now.' },
  media_gone: { status: 410, meaning: 'The file is no longer where it was.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the connector takes.' },
  internal_error: { status: 500, meaning: 'The connector failed; the log says more.' },
  service_refused: { status: 502, meaning: 'The service refused the call; `message` holds its code.' },
  service_unreachable: { status: 502, meaning: 'The service did not answer.' },
  media_refused: {
    status: 502,
    meaning: 'The file is not fetched: its address, size or answer is not safe.',
  },
  unavailable: { status: 503, meaning: 'The store cannot take it now; try again after `Retry-After`.' },
  sync_unfinished: { status: 504, meaning: 'The gap is not closed yet; polling goes on.' },
} as const satisfies Readonly<Record<string, RefusalDefinition>>;

export type ConnectorErrorCode = keyof typeof CONNECTOR_ERRORS;

/** The body of every refusal: a code for programs and a sentence for people, which names the field. */
export const connectorErrorBody = z.object({
  error: z.string().min(1).describe('Machine-readable code.'),
  message: z.string().min(1).describe('What is wrong, in one sentence.'),
  feedId: feedPosition.feedId.optional().describe('With `beyond_feed` alone: names the feed.'),
  lastSeq: feedPosition.lastSeq
    .optional()
    .describe('With `beyond_feed` alone: the number of the newest change.'),
});
