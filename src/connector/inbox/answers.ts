import type { ServerResponse } from 'node:http';
import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';

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
export function answerRefusal(response: ServerResponse, error: ConnectorErrorCode, message: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify({ error, message });
  response.writeHead(CONNECTOR_ERRORS[error].status, {
    ...TYPE,
    'Content-Length': Buffer.byteLength(body),
    ...(error === 'unavailable' ? { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS } : {}),
    ...(error === 'method_not_allowed' ? { Allow: 'POST' } : {}),
  });
  response.end(body);
}
