import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { consoleHost, strayPage } from '../console-host/console-host.ts';
import { buildSandboxOpenApi, buildServiceOpenApi } from '../contract/openapi.ts';
import { SANDBOX_ENDPOINTS, type SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import { type ForwardTarget, forward, type WatchForward } from '../runtime/http-server/forward.ts';
import { createJsonApp } from '../runtime/http-server/json-app.ts';
import { type AllowedHosts, demandJson, localOnly } from '../runtime/http-server/local-only.ts';
import { routeMethods } from '../runtime/http-server/route-methods.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { routeReference } from '../runtime/page/reference.ts';
import { readJson, refuseMalformed } from './control/read-json.ts';
import { INTERNAL_ERROR, SandboxError, toRefusal } from './control/sandbox-error.ts';
import { type Handlers, serveEndpoint, type WatchCalls } from './control/serve-endpoint.ts';
import { serveTools } from './control/serve-tools.ts';
import { WORKSPACE_HEADER } from './recorder/record-calls.ts';

/** Path prefix of the control API. */
export const SANDBOX_PREFIX = '/sandbox/v1';

export interface SandboxAppOptions {
  readonly handlers: Handlers;
  /** Serves `GET /events`. */
  readonly streamEvents?: RequestHandler;
  readonly watch?: WatchCalls;
  readonly watchForward?: Readonly<Record<'connector' | 'service', WatchForward>>;
  readonly logger: Logger;
  readonly serverUrl: () => string;
  /** `{base_url}` of the service, for its OpenAPI document. */
  readonly serviceUrl: () => string;
  /** Where this process reaches `{base_url}`, for `/service`. Default: there. */
  readonly serviceTarget?: (() => string) | undefined;
  /** Whether the sandbox works, for `/healthz`. Default: it does. */
  readonly isHealthy?: (() => Promise<boolean>) | undefined;
  readonly allowedHosts?: AllowedHosts | undefined;
  /** The target of `/connector`; null while no connector is attached. */
  readonly connector?: () => ForwardTarget | null;
  /** An API key of a workspace, for `/service`; without a workspace, of the one that the sandbox starts with. */
  readonly serviceKey?: (workspaceId: string | undefined) => string | Promise<string>;
  /** What has happened since the last reset as a scenario, which the console offers as a file. */
  readonly scenario?: (() => Promise<string>) | undefined;
}

/** The pages at `/docs`; their calls go through this server, which holds the credentials. */
const REFERENCES = [
  { name: 'service', title: 'Service', path: `${SANDBOX_PREFIX}/service.openapi.json`, calls: '/service' },
  { name: 'sandbox', title: 'Sandbox', path: `${SANDBOX_PREFIX}/openapi.json` },
] as const;
const CONNECTOR_REFERENCE = {
  name: 'connector',
  title: 'Connector',
  path: '/connector/v1/openapi.json',
  calls: '/connector',
};

/** `{id}` of the contract's table as a parameter of the router. */
function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function refuseWith(logger: Logger): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    const refusal = toRefusal(error);
    if (refusal === undefined) logger.error({ err: error }, 'a call to the sandbox failed');
    const { status, body } = refusal ?? INTERNAL_ERROR;
    response.status(status).json(body);
  };
}

const unwatched: WatchCalls = () => () => undefined;

/** The implemented endpoints, in the order of the contract's table. */
function listServed({ handlers, streamEvents, watch = unwatched }: SandboxAppOptions) {
  const names = Object.keys(SANDBOX_ENDPOINTS) as SandboxEndpointName[];
  return names.flatMap((name): [SandboxEndpointName, RequestHandler][] => {
    if (name === 'streamEvents') return streamEvents === undefined ? [] : [[name, streamEvents]];
    const handle = handlers[name];
    return handle === undefined ? [] : [[name, serveEndpoint(name, handle as never, watch)]];
  });
}

const NONE_ATTACHED =
  'No connector is attached: `npm run platform` runs none. `npm start` runs one. Your own connector has its own address.';

const NO_DOT_SEGMENTS = 'The path must not contain the segments `.` and `..`.';

const refuseForward =
  (unreachable: 'connector_unreachable' | 'service_unreachable') => (why: 'unreachable' | 'dot_segment') =>
    why === 'unreachable'
      ? new SandboxError(unreachable)
      : new SandboxError('invalid_request', NO_DOT_SEGMENTS);

function forwardToConnector({ connector, watchForward }: SandboxAppOptions): RequestHandler {
  return forward({
    target() {
      const attached = connector?.() ?? null;
      if (attached === null) throw new SandboxError('not_found', NONE_ATTACHED);
      return attached;
    },
    refuse: refuseForward('connector_unreachable'),
    watch: watchForward?.connector,
  });
}

/** Forwards to the REST API of the service, with an API key of a workspace. */
function forwardToService(
  { serviceUrl, serviceTarget = serviceUrl, watchForward }: SandboxAppOptions,
  serviceKey: NonNullable<SandboxAppOptions['serviceKey']>,
): RequestHandler {
  return forward({
    async target(request) {
      const token = await serviceKey(request.get(WORKSPACE_HEADER));
      return { url: serviceTarget(), host: new URL(serviceUrl()).host, token };
    },
    refuse: refuseForward('service_unreachable'),
    watch: watchForward?.service,
    ownHeaders: [WORKSPACE_HEADER],
  });
}

const refuseMethod: RequestHandler = () => {
  throw new SandboxError('method_not_allowed');
};

/** Registers all endpoints. Other methods on their paths are answered with 405. */
function createRoutes(options: SandboxAppOptions): express.Router {
  const router = express.Router({ caseSensitive: true });
  const served = listServed(options);
  const document =
    (build: () => object): RequestHandler =>
    (_request, response) =>
      void response.json(build());
  const only = served.map(([name]) => name);
  const routes: [string, string, RequestHandler][] = [
    ...served.map(([name, handle]): [string, string, RequestHandler] => {
      const { method, path } = SANDBOX_ENDPOINTS[name];
      return [method, toRoute(path), handle];
    }),
    ['GET', '/openapi.json', document(() => buildSandboxOpenApi({ serverUrl: options.serverUrl(), only }))],
    // The service serves nothing of the sandbox, so its OpenAPI document is served here.
    [
      'GET',
      '/service.openapi.json',
      document(() => buildServiceOpenApi({ serverUrl: options.serviceUrl() })),
    ],
  ];
  for (const [path, found] of Map.groupBy(routes, ([, path]) => path)) {
    const methods = found.map(([method, , handle]) => [method, handle] as const);
    const sorted = methods.sort(([a], [b]) => a.localeCompare(b));
    routeMethods(router, path, Object.fromEntries(sorted), { refuse: refuseMethod, headIsGet: true });
  }
  return router;
}

/** `GET /healthz`. A probe may ask for any `Host`, such as the address of a container. */
function healthz({ isHealthy = async () => true }: SandboxAppOptions): RequestHandler {
  return async (_request, response) => {
    const ok = await isHealthy();
    response.status(ok ? 200 : 503).json({ ok });
  };
}

/** The control API over HTTP, only for this machine and the names that are allowed. */
export function createSandboxApp(options: SandboxAppOptions): express.Express {
  const app = createJsonApp();
  app.set('query parser', 'simple');
  const ownUrl = (): string => new URL(options.serverUrl()).origin;
  app.get('/healthz', healthz(options));
  app.use(localOnly(ownUrl, options.allowedHosts), demandJson);
  app.use('/connector', forwardToConnector(options));
  if (options.serviceKey !== undefined) app.use('/service', forwardToService(options, options.serviceKey));
  app.use(SANDBOX_PREFIX, readJson, createRoutes(options));
  const tools = { POST: serveTools(options.handlers, options.watch ?? unwatched, options.logger) };
  app.use('/mcp', readJson);
  routeMethods(app, '/mcp', tools, { refuse: refuseMethod });
  const { connector = () => null } = options;
  app.use(routeReference(() => [...REFERENCES, ...(connector() === null ? [] : [CONNECTOR_REFERENCE])]));
  const mode = () => ({ mode: 'sandbox', write: true, connector: connector() !== null }) as const;
  app.use(consoleHost({ mode, refuseMethod }));
  const { scenario } = options;
  if (scenario !== undefined)
    app.get('/scenario.jsonl', async (_request, response) => {
      const text = await scenario();
      response.attachment('scenario.jsonl').type('application/jsonl').send(text);
    });
  app.use(strayPage, () => {
    throw new SandboxError(
      'not_found',
      `This address does not exist. The calls of the sandbox are under ${options.serverUrl()} (openapi.json there lists them), ` +
        `those of the service under ${options.serviceUrl()} or, without a key, under ${ownUrl()}/service, ` +
        `those of an attached connector under ${ownUrl()}/connector.`,
    );
  });
  app.use(refuseMalformed, refuseWith(options.logger));
  return app;
}
