import type { ServerResponse } from 'node:http';
import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import type { SignatureRefusal } from '../../patterns/verify-signature.ts';

/** Why the receiver rejected a request. */
export type Refusal =
  | 'method'
  | 'unknown_subscription'
  | 'too_large'
  | 'aborted'
  | 'too_slow'
  | 'crowded_out'
  | SignatureRefusal
  | 'undecided'
  | 'not_an_event'
  | 'unavailable';

/** The response to each rejection. An aborted request gets none. */
export const REFUSALS: Readonly<
  Record<Refusal, { readonly code: ConnectorErrorCode; readonly message: string }>
> = {
  method: { code: 'method_not_allowed', message: 'Deliveries must use POST.' },
  unknown_subscription: { code: 'not_found', message: 'No subscription has this webhook path.' },
  too_large: { code: 'payload_too_large', message: 'The body is larger than 1 MiB.' },
  aborted: { code: 'invalid_request', message: 'The body was not received completely.' },
  too_slow: { code: 'request_timeout', message: 'The body did not arrive in time.' },
  crowded_out: {
    code: 'unavailable',
    message: 'There is not enough memory for this body now; send the delivery again.',
  },
  missing_header: {
    code: 'invalid_signature',
    message: 'X-Service-Timestamp and X-Service-Signature are both required.',
  },
  malformed_timestamp: {
    code: 'invalid_signature',
    message: 'X-Service-Timestamp must be a single value of 13 digits.',
  },
  malformed_signature: {
    code: 'invalid_signature',
    message: 'X-Service-Signature must be a single value: sha256= followed by 64 hex digits.',
  },
  stale_timestamp: {
    code: 'invalid_signature',
    message: 'X-Service-Timestamp is more than five minutes old.',
  },
  future_timestamp: {
    code: 'invalid_signature',
    message: 'X-Service-Timestamp is more than five minutes in the future.',
  },
  wrong_signature: {
    code: 'invalid_signature',
    message: 'X-Service-Signature does not match the body and the secret.',
  },
  undecided: {
    code: 'unavailable',
    message: 'The valid secret could not be read in time; send the delivery again.',
  },
  not_an_event: { code: 'invalid_request', message: 'The body must be a JSON object with a string `event`.' },
  unavailable: { code: 'unavailable', message: 'The delivery could not be stored; send it again.' },
};

const TYPE = { 'Content-Type': 'application/json; charset=utf-8' };
/** Strings: the head and a string are sent in one write; a buffer would need two. */
const TAKEN = '{"ok":true}';

/** The sender may retry a delivery that could not be stored after this many seconds. */
const RETRY_AFTER_SECONDS = '1';

/** 200: the delivery is committed, now or earlier. */
export function answerTaken(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, { ...TYPE, 'Content-Length': TAKEN.length });
  response.end(TAKEN);
}

/** An error: the status of the code, `error` for programs and `message` for people. */
export function answerRefusal(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const { code: error, message } = REFUSALS[refusal];
  const body = JSON.stringify({ error, message });
  response.writeHead(CONNECTOR_ERRORS[error].status, {
    ...TYPE,
    'Content-Length': Buffer.byteLength(body),
    ...(error === 'unavailable' ? { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS } : {}),
    ...(error === 'method_not_allowed' ? { Allow: 'POST' } : {}),
  });
  response.end(body);
}
