import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { buildSandboxOpenApi, buildServiceOpenApi } from '../contract/openapi.ts';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import { createJsonApp } from '../runtime/http-server/json-app.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { proxyConnector } from './connector-proxy.ts';
import { localOnly } from './control/local-only.ts';
import { demandJson, readJson, refuseMalformed } from './control/read-json.ts';
import { SandboxError, toRefusal } from './control/sandbox-error.ts';
import { type Handlers, type StreamHandlers, serveEndpoint } from './control/serve-endpoint.ts';

/** Path prefix of the control API. */
export const SANDBOX_PREFIX = '/sandbox/v1';

export interface SandboxAppOptions {
  readonly handlers: Handlers;
  readonly streams?: StreamHandlers;
  /** Told of each call that succeeded. */
  readonly onServed?: (name: SandboxEndpointName) => void;
  readonly logger: Logger;
  readonly serverUrl: () => string;
  /** `{base_url}` of the service, for its document. */
  readonly serviceUrl: () => string;
  /** Hosts besides this machine's own names that may be asked for, without a port. */
  readonly allowedHosts?: readonly string[];
  /** Where `/connector` leads; null while none is attached. */
  readonly connector?: () => { url: string; token: string } | null;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** `{id}` of the contract's table as a parameter of the router. */
function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function refuseWith(logger: Logger): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const refusal = toRefusal(error) ?? toRefusal(new SandboxError('internal_error'));
    if (toRefusal(error) === undefined) logger.error({ err: error }, 'a call to the sandbox failed');
    response.status(refusal?.status ?? 500).json(refusal?.body);
  };
}

/** The handlers of the endpoints that exist, in the order of the contract's table. */
function listServed(options: SandboxAppOptions): [SandboxEndpointName, RequestHandler][] {
  const { handlers, streams = {}, onServed = () => undefined } = options;
  const served: [SandboxEndpointName, RequestHandler][] = [];
  for (const name of Object.keys(SANDBOX_ENDPOINTS) as SandboxEndpointName[]) {
    if (name === 'streamEvents') {
      if (streams[name] !== undefined) served.push([name, streams[name]]);
      continue;
    }
    const handle = handlers[name];
    if (handle !== undefined) served.push([name, serveEndpoint(name, handle as never, onServed)]);
  }
  return served;
}

/** Registers what has a handler; any other method on the same path is answered 405. */
function createRoutes(options: SandboxAppOptions): express.Router {
  const router = express.Router({ caseSensitive: true });
  const served = listServed(options);
  const methods = new Map<string, Set<string>>();
  const add = (method: string, path: string): void => {
    methods.set(path, (methods.get(path) ?? new Set()).add(method));
  };
  for (const [name, handle] of served) {
    const { method, path } = SANDBOX_ENDPOINTS[name];
    add(method, toRoute(path));
    router[method.toLowerCase() as Method](toRoute(path), handle);
  }
  const document = (path: string, build: () => object): void => {
    add('GET', path);
    router.get(path, (_request, response) => void response.json(build()));
  };
  document('/openapi.json', () =>
    buildSandboxOpenApi({ serverUrl: options.serverUrl(), only: served.map(([name]) => name) }),
  );
  // Nothing under the address of the service knows of the sandbox, so its document stands here.
  document('/service.openapi.json', () => buildServiceOpenApi({ serverUrl: options.serviceUrl() }));
  for (const [path, allowed] of methods) {
    router.all(path, (_request, response) => {
      response.setHeader('Allow', [...allowed].sort().join(', '));
      throw new SandboxError('method_not_allowed');
    });
  }
  return router;
}

/** The control API over HTTP, for this machine alone. */
export function createSandboxApp(options: SandboxAppOptions): express.Express {
  const app = createJsonApp();
  app.set('query parser', 'simple');
  const ownUrl = (): string => new URL(options.serverUrl()).origin;
  app.use(localOnly(ownUrl, options.allowedHosts), demandJson);
  app.use('/connector', proxyConnector(options.connector ?? (() => null)));
  app.use(SANDBOX_PREFIX, readJson, createRoutes(options));
  app.use(() => {
    throw new SandboxError(
      'not_found',
      `There is no such address. The calls of the sandbox are below ${options.serverUrl()} (openapi.json there lists them), ` +
        `those of the service below ${options.serviceUrl()}, those of an attached connector below ${ownUrl()}/connector.`,
    );
  });
  app.use(refuseMalformed, refuseWith(options.logger));
  return app;
}
