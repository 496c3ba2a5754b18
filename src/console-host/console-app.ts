import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { forward } from '../runtime/http-server/forward.ts';
import { createJsonApp } from '../runtime/http-server/json-app.ts';
import { demandJson, LocalRefusal, localOnly } from '../runtime/http-server/local-only.ts';
import type { ConsoleDoor } from './console-door.ts';
import { consoleHost, strayPage } from './console-host.ts';

export interface ConsoleAppOptions {
  /** The address of this server. */
  readonly ownUrl: () => string;
  /** The connector, and the token of its API, which no page ever sees. */
  readonly connector: { readonly url: string; readonly token: string };
  /** What the environment of the connector is called. */
  readonly environment: string;
  /** Whether calls that change something are forwarded. */
  readonly write: boolean;
  /** Who may call anything of this server. */
  readonly door: ConsoleDoor;
}

/** A refusal of this server; the connector's own are passed on as they are. */
class ConsoleRefusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const STATUS_OF_LOCAL = { foreign_origin: 403, unsupported_media_type: 415 } as const;

const respond: ErrorRequestHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error);
  const { message } = error as Error;
  if (error instanceof LocalRefusal) {
    response.status(STATUS_OF_LOCAL[error.code]).json({ error: error.code, message });
  } else if (error instanceof ConsoleRefusal) {
    response.status(error.status).json({ error: error.code, message });
  } else response.status(500).json({ error: 'internal_error', message: 'The console failed.' });
};

const readOnly: RequestHandler = (request, _response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD') return next();
  throw new ConsoleRefusal(
    403,
    'read_only',
    'This console only reads. Start it with --write to change anything.',
  );
};

const refuseMethod: RequestHandler = () => {
  throw new ConsoleRefusal(405, 'method_not_allowed', 'The path does not support this method.');
};

/** The address as people write it: without a scheme, and without credentials. */
function shortAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/$/, '')}`;
}

/** The console beside a connector in production: the page, and a proxy on this machine that holds the token. */
export function createConsoleApp(options: ConsoleAppOptions): Express {
  const { ownUrl, connector, environment, write, door } = options;
  const deployment = { environment, address: shortAddress(connector.url) };
  const app = createJsonApp();
  app.use(localOnly(ownUrl), door.admit, demandJson);
  const proxy = forward({
    target: () => connector,
    refuse: (why) =>
      why === 'unreachable'
        ? new ConsoleRefusal(
            502,
            'connector_unreachable',
            `The connector at ${connector.url} does not respond.`,
          )
        : new ConsoleRefusal(400, 'invalid_request', 'The path has a segment `.` or `..`.'),
  });
  app.use('/connector', ...(write ? [] : [readOnly]), proxy);
  app.use(
    consoleHost({ mode: () => ({ mode: 'production', write, connector: true, deployment }), refuseMethod }),
  );
  app.use(strayPage, () => {
    throw new ConsoleRefusal(404, 'not_found', `There is no such address. The console is at ${ownUrl()}/.`);
  });
  app.use(respond);
  return app;
}
