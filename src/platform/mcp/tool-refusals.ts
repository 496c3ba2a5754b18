import { HEADERS } from '../../contract/service/headers.ts';
import { type Answer, answerOf } from '../calls/answer.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { ScopeMissing, UnreadableMessage } from './admit-request.ts';
import { resourceMetadataUrl } from './resource-metadata.ts';

/** Codes of JSON-RPC and of its transport over HTTP. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;

/** A refusal in the protocol's own words, for what is no matter of the credential; it names no request. */
function protocolRefusal(status: number, code: number, message: string): Answer {
  return { status, body: { jsonrpc: '2.0', error: { code, message } } };
}

function refuseMessage({ unparsed, message }: UnreadableMessage): Answer {
  const refused = new PlatformError('invalid_request', { why: message });
  const answer = unparsed
    ? protocolRefusal(400, PARSE_ERROR, `Parse error: ${message}`)
    : protocolRefusal(400, INVALID_REQUEST, `Invalid request: ${message}`);
  return { ...answer, refused };
}

/** The challenge, with the scopes to ask for and where to find who issues tokens (RFC 6750, 3; RFC 9728, 5.1). */
function challenged(answer: Answer, scopes: readonly string[], baseUrls: BaseUrls): Answer {
  const challenge = answer.headers?.[HEADERS.wwwAuthenticate];
  if (challenge === undefined) return answer;
  const more = `scope="${scopes.join(' ')}", resource_metadata="${resourceMetadataUrl(baseUrls)}"`;
  return { ...answer, headers: { ...answer.headers, [HEADERS.wwwAuthenticate]: `${challenge}, ${more}` } };
}

/** The answer to a request that was not let in, or that failed before a tool ran. */
export function refuseRequest(error: unknown, baseUrls: BaseUrls): Answer {
  if (error instanceof UnreadableMessage) return refuseMessage(error);
  if (error instanceof ScopeMissing) return challenged(answerOf(error.refusal), error.scopes, baseUrls);
  const answer = challenged(answerOf(error), ASSUMPTIONS.toolScopes.value, baseUrls);
  return answer.status === 405 ? { ...answer, headers: { ...answer.headers, Allow: 'POST' } } : answer;
}

/** The answer to a page that may not call. */
export function refuseOrigin(): Answer {
  return protocolRefusal(403, REFUSED, 'Pages of this origin may not call.');
}
