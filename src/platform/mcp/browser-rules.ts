import type { NextFunction, Request, Response } from 'express';
import { DISCOVERY_PATH, OAUTH_PATHS } from '../oauth/addresses.ts';
import { RESOURCE_METADATA_PATHS, TOOLS_PATH } from './resource-metadata.ts';

/** The paths that a client in a browser requests. The consent is a page that it opens. */
const SHARED_PATHS: ReadonlySet<string> = new Set([
  TOOLS_PATH,
  ...RESOURCE_METADATA_PATHS,
  DISCOVERY_PATH,
  OAUTH_PATHS.jwks,
  OAUTH_PATHS.token,
  OAUTH_PATHS.revoke,
]);

const EXPOSED = 'WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version';
const ACCEPTED =
  'Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name';

/**
 * Allows pages of any origin to read the answers at these paths. Cookies have no effect there, so a page can do no
 * more than any holder of its token. Answers preflights; every other OPTIONS is passed on.
 */
export function shareWithPages(request: Request, response: Response, next: NextFunction): void {
  if (!SHARED_PATHS.has(request.path)) {
    next();
    return;
  }
  response.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': EXPOSED });
  if (request.method !== 'OPTIONS' || request.get('Access-Control-Request-Method') === undefined) {
    next();
    return;
  }
  response
    .status(204)
    .set({
      'Access-Control-Allow-Methods': 'GET, POST',
      'Access-Control-Allow-Headers': ACCEPTED,
      'Access-Control-Max-Age': '600',
    })
    .end();
}

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Whether a page of this origin may call. A page that reaches this host by DNS rebinding is on plain HTTP and not on
 * loopback. Only such a page has the server's origin, which lets it read answers without CORS headers.
 * [choice.tools.origin]
 */
export function isAllowedOrigin(origin: string | undefined): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return protocol !== 'http:' || LOOPBACK.test(hostname);
}
