import { request as callConnector } from 'node:http';
import type { RequestHandler } from 'express';
import { SandboxError } from './sandbox-error.ts';

/** Headers that belong to one hop; the next one makes its own. */
const HOP_HEADERS = ['host', 'connection', 'authorization', 'origin', 'cookie', 'transfer-encoding'];

/**
 * Hands a request on to the attached connector and adds the token of its API, so that whoever may use the
 * sandbox needs neither the token nor CORS. Streams in both directions; a client that leaves ends the call.
 */
export function proxyConnector(connector: () => { url: string; token: string } | null): RequestHandler {
  return (request, response, next) => {
    const target = connector();
    if (target === null) throw new SandboxError('not_found');
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !HOP_HEADERS.includes(name)),
    );
    const call = callConnector(new URL(request.url, target.url), {
      method: request.method,
      headers: { ...headers, authorization: `Bearer ${target.token}` },
    });
    call.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    call.on('error', (error) => {
      if (response.headersSent) response.destroy();
      else next(error);
    });
    response.on('close', () => call.destroy());
    request.pipe(call);
  };
}
