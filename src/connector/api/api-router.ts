import { json, type NextFunction, type Request, type Response, type Router } from 'express';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import type { OpenApiDocument } from '../../contract/openapi/document.ts';
import { buildConnectorOpenApi } from '../../contract/openapi.ts';
import type { EndpointDefinition } from '../../contract/schema/endpoint.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { boundJson } from '../../runtime/http-server/bound-json.ts';
import { foreignCharset } from '../../runtime/http-server/charset.ts';
import { createMemoryBudget } from '../../runtime/http-server/memory-budget.ts';
import { declaresMore } from '../../runtime/http-server/request-body.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Audit, AuditEvent } from '../audit/audit.ts';
import { ApiError, invalid, RETRY_AFTER_MS, tooLarge } from './api-error.ts';
import { type Operations, OtherAnswer } from './operations.ts';
import { readId, readInput } from './read-input.ts';
import { type TokenGuard, tokenOf } from './token-guard.ts';

const LARGEST_BODY_BYTES = 64 * 1024;
/** Maximum depth of a body; no schema has more than a few levels. */
const DEEPEST_BODY = 32;
/** Where a body may be larger: a file in base64 and the fields around it. */
const LARGER_BODY_BYTES: Partial<Record<ConnectorEndpointName, number>> = {
  queueMessage: LIMITS.mediaBase64Characters + LARGEST_BODY_BYTES,
};

/**
 * How many files of the largest size a process accepts at the same time. Each needs some 140 MB while it is
 * stored.
 */
const FILES_AT_ONCE = 2;
const TOO_MANY_FILES = 'Too many files are being uploaded at once; retry after `Retry-After`.';

/** Time from the complete request to its response, whatever it waits for. */
const ANSWER_MS = 8_000;
/** Calls to the service have their own timeouts, and some are retried. */
const SERVICE_CALLS_MS = 150_000;
const LONGER_ANSWER_MS: Partial<Record<ConnectorEndpointName, number>> = {
  getFindings: SERVICE_CALLS_MS,
  addAccount: SERVICE_CALLS_MS,
  startGrant: SERVICE_CALLS_MS,
  removeAccount: SERVICE_CALLS_MS,
  rotateSecret: SERVICE_CALLS_MS,
  createConnection: SERVICE_CALLS_MS,
  restartConnection: SERVICE_CALLS_MS,
  logoutConnection: SERVICE_CALLS_MS,
  deleteConnection: SERVICE_CALLS_MS,
  requestPairingCode: SERVICE_CALLS_MS,
  sendReadReceipt: SERVICE_CALLS_MS,
  syncNow: SERVICE_CALLS_MS,
  // It reads the whole feed once.
  erasePerson: SERVICE_CALLS_MS,
};

/** Audit entries for operations that change permissions or discard something. */
const AUDITED: Partial<Record<ConnectorEndpointName, AuditEvent>> = {
  addAccount: 'account.added',
  removeAccount: 'account.removed',
  startGrant: 'consent.begun',
  rotateSecret: 'secret.rotated',
  deleteConnection: 'connection.deleted',
  createConsumer: 'consumer.created',
  changeConsumer: 'consumer.changed',
  deleteConsumer: 'consumer.deleted',
  pauseConsumer: 'consumer.paused',
  resumeConsumer: 'consumer.resumed',
  replayConsumer: 'consumer.replayed',
  rotateConsumerSecret: 'secret.rotated',
  replayDeadLetter: 'dead_letter.replayed',
  removeDeadLetter: 'dead_letter.given_up',
  erasePerson: 'person.erased',
};

/**
 * The operation of any endpoint as the router sees it: its input was validated by the endpoint's own schemas.
 */
type AnyOperation = (call: AnyCall, who: string | undefined) => Promise<unknown>;

interface AnyCall {
  readonly id: string;
  readonly query: unknown;
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
}

/**
 * Routes each operation by the contract's endpoint of the same name: method, path, and schemas of query and
 * body. The caller needs the right that the endpoint names. Errors thrown by an operation go to the error
 * handler.
 */
export function routeOperations(
  operations: Operations,
  { guard, audit, clock }: { readonly guard: TokenGuard; readonly audit: Audit; readonly clock: Clock },
): Router {
  const router = strictRouter();
  for (const [key, operation] of Object.entries(operations)) {
    const name = key as ConnectorEndpointName;
    const endpoint: EndpointDefinition = CONNECTOR_ENDPOINTS[name];
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const handle = handlerOf(endpoint, withAudit(operation as AnyOperation, AUDITED[name], audit), {
      clock,
      answerMs: LONGER_ANSWER_MS[name] ?? ANSWER_MS,
    });
    const allow = guard.allow(name);
    const method = endpoint.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    if (endpoint.body === undefined) router[method](path, allow, handle);
    else router[method](path, allow, ...parseBody(name), handle);
  }
  return router;
}

/** Parses the body of a call as JSON, within the limits of its endpoint. */
export function parseBody(name?: ConnectorEndpointName) {
  const larger = name === undefined ? undefined : LARGER_BODY_BYTES[name];
  const limit = larger ?? LARGEST_BODY_BYTES;
  const bound = { plainBytes: LARGEST_BODY_BYTES, depth: DEEPEST_BODY };
  const verify = (_request: unknown, _response: unknown, bytes: Uint8Array): void => boundJson(bytes, bound);
  const parse = json({ limit, inflate: false, type: () => true, verify });
  // The parser would read such a body to its end before rejecting it.
  const refuseLarger = (request: Request, _response: Response, next: NextFunction): void => {
    if (declaresMore(request, limit)) throw tooLarge();
    next();
  };
  const refuseCharset = (request: Request, _response: Response, next: NextFunction): void => {
    const charset = foreignCharset(request.headers['content-type']);
    if (charset !== null) throw invalid('body', `must be JSON in UTF-8, but its charset is ${charset}`);
    // The parser knows only one spelling of UTF-8.
    request.headers['content-type'] = 'application/json';
    next();
  };
  if (larger === undefined) return [refuseLarger, refuseCharset, parse];
  return [refuseLarger, refuseCharset, boundFiles(larger), parse];
}

/**
 * Limits the memory of a process that large bodies use: a body is held until its request has been answered,
 * as bytes, as text and decoded. A body for which there is no room is rejected before any of it is stored;
 * the rest is read and discarded, so that the response arrives.
 */
function boundFiles(largest: number) {
  const budget = createMemoryBudget(FILES_AT_ONCE * largest, LARGEST_BODY_BYTES);
  return (request: Request, response: Response, next: NextFunction): void => {
    const share = budget.enter(() => {
      request.resume();
      throw new ApiError('unavailable', TOO_MANY_FILES, RETRY_AFTER_MS.memory);
    });
    // A body of unknown size counts as one of the largest; one without a header is empty.
    const { 'content-length': declared, 'transfer-encoding': chunked } = request.headers;
    share.grow(Math.min(Number(declared ?? (chunked === undefined ? 0 : largest)), largest));
    response.once('close', share.leave);
    next();
  };
}

/** Returns the response by the deadline, or else 503; work that has started may still take effect. */
function handlerOf(
  endpoint: EndpointDefinition,
  operation: AnyOperation,
  { clock, answerMs }: { readonly clock: Clock; readonly answerMs: number },
) {
  const status = endpoint.answers[0]?.status ?? 200;
  return async (request: Request, response: Response): Promise<void> => {
    const id = 'id' in request.params ? readId(request.params['id']) : '';
    const query =
      endpoint.query === undefined ? undefined : readInput(endpoint.query, request.query, 'query');
    const body = readBody(endpoint, request);
    const call = { id, query, body, header: (name: string) => request.get(name) };
    const answer = await within(clock, answerMs, operation(call, tokenOf(response)?.name));
    if (!(answer instanceof OtherAnswer)) response.status(status).json(answer);
    else response.status(answer.status).set(answer.headers).json(answer.body);
  };
}

function withAudit(operation: AnyOperation, event: AuditEvent | undefined, audit: Audit): AnyOperation {
  if (event === undefined) return operation;
  return async (call, who) => {
    // The number of an erased person must not stand in the log.
    const given =
      event === 'person.erased'
        ? undefined
        : call.id || (readText(call.body, 'accountId') ?? readText(call.body, 'name'));
    const reference = readText(call.body, 'reference');
    try {
      const answer = await operation(call, who);
      audit.note(event, { who, id: given ?? readText(answer, 'id'), reference, result: 'ok' });
      return answer;
    } catch (error) {
      const result = error instanceof ApiError ? error.code : 'internal_error';
      audit.note(event, { who, id: given, reference, result });
      throw error;
    }
  };
}

function readText(value: unknown, key: string): string | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof found === 'string' ? found : undefined;
}

function readBody({ body }: EndpointDefinition, request: Request): unknown {
  if (body === undefined) return undefined;
  // The parser leaves undefined if there is no body.
  if (request.body === undefined && !body.required) return undefined;
  return readInput(body.schema, request.body, 'body');
}

/**
 * `GET /v1/openapi.json`: exactly the operations that exist. The document is built with the first request: that takes
 * longer than the rest of a start.
 */
export function serveOpenApi(names: readonly ConnectorEndpointName[]) {
  let document: OpenApiDocument | undefined;
  return (_request: Request, response: Response): void => {
    document ??= buildConnectorOpenApi({ serverUrl: '/', only: names });
    response.json(document);
  };
}

/**
 * After all routes: an existing path supports other methods; anything else does not exist. `GET` of `extraPaths` is
 * routed elsewhere.
 */
export function refuseUnrouted(names: readonly ConnectorEndpointName[], extraPaths: readonly string[] = []) {
  const endpoints: Pick<EndpointDefinition, 'method' | 'path'>[] = [
    ...names.map((name) => CONNECTOR_ENDPOINTS[name]),
    ...extraPaths.map((path) => ({ method: 'GET' as const, path })),
  ];
  const routes = endpoints.map(({ method, path }) => ({ method, pattern: toPattern(path) }));
  return (request: Request, response: Response, _next: NextFunction): void => {
    const methods = routes.filter(({ pattern }) => pattern.test(request.path)).map(({ method }) => method);
    if (methods.length === 0) throw new ApiError('not_found', 'This path does not exist.');
    const allowed = methods.includes('GET') ? ['HEAD', ...methods] : methods;
    response.setHeader('Allow', [...new Set(allowed)].sort().join(', '));
    throw new ApiError('method_not_allowed', `This path does not support ${request.method}.`);
  };
}

function toPattern(path: string): RegExp {
  const escaped = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${escaped}$`);
}
