import { json, type NextFunction, type Request, type Response, Router } from 'express';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import type { EndpointDefinition } from '../../contract/endpoint.ts';
import { buildConnectorOpenApi } from '../../contract/openapi.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import { boundFiles } from './bound-files.ts';
import { type Operations, OtherAnswer } from './operations.ts';
import { readId, readInput } from './read-input.ts';

const LARGEST_BODY_BYTES = 64 * 1024;
/** Where a body may be larger: a file in base64, and what stands around it. */
const LARGER_BODY_BYTES: Partial<Record<ConnectorEndpointName, number>> = {
  queueMessage: LIMITS.mediaBase64Characters + LARGEST_BODY_BYTES,
};

/** Files of the largest size that a process takes at a time. Each needs some 140 MB while it is stored. */
const FILES_AT_ONCE = 2;

/** The operation of any endpoint, seen from the router: what it gets was read by the endpoint's own schemas. */
type AnyOperation = (call: {
  id: string;
  query: unknown;
  body: unknown;
  header: (name: string) => string | undefined;
}) => Promise<unknown>;

/**
 * Routes each operation by the contract's endpoint of the same name: method, path, schemas of query and body.
 * What an operation throws goes to the error handler behind.
 */
export function routeOperations(operations: Operations): Router {
  const router = Router();
  for (const [name, operation] of Object.entries(operations)) {
    const endpoint: EndpointDefinition = CONNECTOR_ENDPOINTS[name as ConnectorEndpointName];
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const handle = handlerOf(endpoint, operation as AnyOperation);
    const method = endpoint.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete';
    if (endpoint.body === undefined) router[method](path, handle);
    else router[method](path, ...parseBody(name as ConnectorEndpointName), handle);
  }
  return router;
}

function parseBody(name: ConnectorEndpointName) {
  const larger = LARGER_BODY_BYTES[name];
  const parse = json({ limit: larger ?? LARGEST_BODY_BYTES, inflate: false, type: () => true });
  if (larger === undefined) return [parse];
  const bound = { freeBytes: LARGEST_BODY_BYTES, largestBytes: larger, mostBytes: FILES_AT_ONCE * larger };
  return [boundFiles(bound), parse];
}

function handlerOf(endpoint: EndpointDefinition, operation: AnyOperation) {
  const status = endpoint.answers[0]?.status ?? 200;
  return async (request: Request, response: Response): Promise<void> => {
    const id = 'id' in request.params ? readId(request.params['id']) : '';
    const query =
      endpoint.query === undefined ? undefined : readInput(endpoint.query, request.query, 'query');
    const body = readBody(endpoint, request);
    const answer = await operation({ id, query, body, header: (name) => request.get(name) });
    if (!(answer instanceof OtherAnswer)) response.status(status).json(answer);
    else response.status(answer.status).set(answer.headers).json(answer.body);
  };
}

function readBody({ body }: EndpointDefinition, request: Request): unknown {
  if (body === undefined) return undefined;
  // The parser leaves undefined when there was no body.
  if (request.body === undefined && !body.required) return undefined;
  return readInput(body.schema, request.body, 'body');
}

/** Paths and methods that exist: for `405` and for the document. */
export interface RouteTable {
  readonly names: readonly ConnectorEndpointName[];
  /** `GET` of these is routed elsewhere. */
  readonly extraPaths: readonly string[];
}

/** `GET /v1/openapi.json`: exactly the operations that exist. */
export function serveOpenApi(names: readonly ConnectorEndpointName[]) {
  const document = buildConnectorOpenApi({ serverUrl: '/', only: names });
  return (_request: Request, response: Response): void => {
    response.json(document);
  };
}

/** Behind all routes: a path that exists takes other methods, anything else does not exist. */
export function refuseUnrouted(table: RouteTable) {
  const routes = table.names.map((name) => {
    const { path, method }: EndpointDefinition = CONNECTOR_ENDPOINTS[name];
    return { method, pattern: toPattern(path) };
  });
  routes.push(...table.extraPaths.map((path) => ({ method: 'GET' as const, pattern: toPattern(path) })));
  return (request: Request, response: Response, _next: NextFunction): void => {
    const methods = routes.filter(({ pattern }) => pattern.test(request.path)).map(({ method }) => method);
    if (methods.length === 0) {
      response.status(404).json({ error: 'not_found', message: 'No such address.' });
      return;
    }
    const allowed = methods.includes('GET') ? ['HEAD', ...methods] : methods;
    response.setHeader('Allow', [...new Set(allowed)].sort().join(', '));
    response
      .status(405)
      .json({ error: 'method_not_allowed', message: `This address does not take ${request.method}.` });
  };
}

function toPattern(path: string): RegExp {
  const escaped = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${escaped}/?$`, 'i');
}
