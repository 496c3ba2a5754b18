import type { Router } from 'express';
import { HEADERS } from '../../contract/service/headers.ts';
import { routeMethods } from '../../runtime/http-server/route-methods.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import { type Answer, answerOf } from '../calls/answer.ts';
import type { CallShell } from '../calls/call-shell.ts';
import type { CredentialSources } from '../credentials/find-granted.ts';
import { resolveToolCredential } from '../credentials/resolve-credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { documentAnswer } from '../oauth/oauth-answer.ts';
import { admitRequest, ScopeMissing, UnreadableMessage } from './admit-request.ts';
import { isAllowedOrigin } from './browser-rules.ts';
import type { ProtocolHandler } from './protocol-handler.ts';
import {
  describeResource,
  RESOURCE_METADATA_PATHS,
  resourceMetadataUrl,
  TOOLS_PATH,
} from './resource-metadata.ts';

/** The tool server and its metadata. */
export interface ToolServer {
  /** Passes other paths on. */
  readonly router: Router;
  close(): Promise<void>;
}

interface Options extends CredentialSources {
  readonly shell: CallShell;
  readonly baseUrls: () => BaseUrls;
  readonly protocol: ProtocolHandler;
}

/** Codes of JSON-RPC and of its transport over HTTP. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;

/** A refusal as an error of the protocol, for reasons other than the credential. It names no request. */
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

/** Adds the scopes to request and the address of the metadata to the challenge (RFC 6750, 3; RFC 9728, 5.1). */
function challenged(answer: Answer, scopes: readonly string[], baseUrls: BaseUrls): Answer {
  const challenge = answer.headers?.[HEADERS.wwwAuthenticate];
  if (challenge === undefined) return answer;
  const more = `scope="${scopes.join(' ')}", resource_metadata="${resourceMetadataUrl(baseUrls)}"`;
  return { ...answer, headers: { ...answer.headers, [HEADERS.wwwAuthenticate]: `${challenge}, ${more}` } };
}

/** The answer to a request that was not admitted, or that failed before a tool ran. */
function refuseRequest(error: unknown, baseUrls: BaseUrls): Answer {
  if (error instanceof UnreadableMessage) return refuseMessage(error);
  if (error instanceof ScopeMissing) return challenged(answerOf(error.refusal), error.scopes, baseUrls);
  const answer = challenged(answerOf(error), ASSUMPTIONS.toolScopes.value, baseUrls);
  return answer.status === 405 ? { ...answer, headers: { ...answer.headers, Allow: 'POST' } } : answer;
}

/** The answer to a page that may not call. */
function refuseOrigin(): Answer {
  return protocolRefusal(403, REFUSED, 'Pages of this origin are not allowed.');
}

/** Creates the tool server: the checks of callers, the protocol, and the metadata. */
export function createToolServer(options: Options): ToolServer {
  const { shell, baseUrls, protocol } = options;
  const router = strictRouter();

  const callTools = shell.handle('oauth', {
    async answer(call) {
      if (!isAllowedOrigin(call.request.get('Origin'))) return refuseOrigin();
      await protocol.serve(call, await admitRequest(options, call.request));
      return null;
    },
    refuse: (error) => refuseRequest(error, baseUrls()),
    recognize: (request) => resolveToolCredential(options, request.headersDistinct['authorization']),
  });
  // The method is checked after the credential, so that a caller without a valid token does not learn it.
  router.all(TOOLS_PATH, callTools);

  const describe = shell.handle('oauth', {
    answer: async () => documentAnswer(describeResource(baseUrls())),
    refuse: answerOf,
  });
  const refuse = shell.handle('oauth', {
    answer: () => Promise.reject(new PlatformError('method_not_allowed')),
    refuse: answerOf,
  });
  for (const path of RESOURCE_METADATA_PATHS) routeMethods(router, path, { GET: describe }, { refuse });

  return {
    router,
    close: () => protocol.close(),
  };
}
