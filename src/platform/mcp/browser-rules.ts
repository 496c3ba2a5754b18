import type { NextFunction, Request, Response } from 'express';
import { DISCOVERY_PATH, OAUTH_PATHS } from '../oauth/addresses.ts';
import { RESOURCE_METADATA_PATHS, TOOLS_PATH } from './resource-metadata.ts';

/** What a client in a browser asks for on its way to the tools. The consent itself is a page of its own. */
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
 * Lets pages of any origin read the answers of the tool server and of what leads to it. No cookie counts here, so
 * a page can do no more than whoever holds its token. A preflight is answered; every other OPTIONS goes on.
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
 * Whether a page of this origin may call. A page whose name was rebound to this host is on plain HTTP and not on
 * loopback; only such a page is of the server's own origin, and reads what no CORS header gave it.
 * [choice.tools.origin]
 */
export function isWelcomeOrigin(origin: string | undefined): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return protocol !== 'http:' || LOOPBACK.test(hostname);
}
