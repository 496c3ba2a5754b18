import { request as callConnector, type IncomingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';
import { SandboxError } from './control/sandbox-error.ts';

/** Headers that belong to one hop; the next one makes its own. */
const HOP_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** What the caller says of itself, or asks of this hop, and the connector is not to hear. */
const CALLERS_OWN = ['host', 'authorization', 'origin', 'cookie', 'expect'];

function without(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

/**
 * How the body of a request ends, in headers of its own hop: Node writes the body of a GET or DELETE without a frame
 * unless it is told, and the bytes would then be the next request.
 */
function framing({ 'transfer-encoding': encoding }: IncomingHttpHeaders): Record<string, string> {
  return encoding === undefined ? {} : { 'transfer-encoding': 'chunked' };
}

const NONE_ATTACHED =
  'No connector is attached: `npm run platform` runs none. `npm start` runs one; a connector of your own has an address of its own.';

/**
 * Hands a request on to the attached connector and adds the token of its API, so that whoever may use the
 * sandbox needs neither the token nor CORS. Streams in both directions; a client that leaves ends the call.
 * The path is sent as it came, so that no path can lead the token to another host. A connector that does not
 * answer is `connector_unreachable`.
 */
export function proxyConnector(connector: () => { url: string; token: string } | null): RequestHandler {
  return (request, response, next) => {
    const target = connector();
    if (target === null) throw new SandboxError('not_found', NONE_ATTACHED);
    const { hostname, port } = new URL(target.url);
    const call = callConnector({
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: request.url,
      method: request.method,
      headers: {
        ...without(request.headers, [...HOP_HEADERS, ...CALLERS_OWN]),
        ...framing(request.headers),
        authorization: `Bearer ${target.token}`,
      },
    });
    call.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, without(answer.headers, HOP_HEADERS));
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    call.on('error', () => {
      if (response.headersSent || response.destroyed) response.destroy();
      else next(new SandboxError('connector_unreachable'));
    });
    response.on('close', () => call.destroy());
    request.pipe(call);
  };
}
