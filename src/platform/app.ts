import type { Express, RequestHandler } from 'express';
import { findEntry } from '../runtime/addresses/address-ranges.ts';
import { createJsonApp } from '../runtime/http-server/json-app.ts';
import { refusal, writeAnswer } from './calls/answer.ts';
import { ownHostsOnly } from './calls/own-hosts.ts';
import { PlatformError } from './kernel/platform-error.ts';
import { shareWithPages } from './mcp/browser-rules.ts';
import type { ToolServer } from './mcp/tool-server.ts';
import { MEDIA_PATH } from './media/media-address.ts';
import type { OauthServer } from './oauth/oauth-server.ts';
import { NEUTRAL_PICTURE, NEUTRAL_PICTURE_PATH } from './rest/neutral-picture.ts';
import type { CallServer } from './rest/serve-calls.ts';

/** Path prefix of the REST interface. Implements `Versioning`. */
export const API_PREFIX = '/api/v1';

export interface AppOptions {
  readonly calls: CallServer;
  /** The authorization server; absent at the legacy address. */
  readonly oauth?: OauthServer;
  /** The tool server; absent at the legacy address. */
  readonly tools?: ToolServer;
  /** Serves files. */
  readonly media: RequestHandler;
  /** Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is believed; with none it is ignored. */
  readonly trustedProxies: readonly string[];
  /** Any address of the service, read on each request. */
  readonly ownUrl: () => string;
}

/**
 * The service's HTTP face. Whatever is asked of it, a refusal is `{ error }`. The caller's address is the
 * rightmost one of `X-Forwarded-For` and the socket that is no trusted proxy: what stands left of it was
 * written by the caller.
 */
export function createApp({ calls, oauth, tools, media, trustedProxies, ownUrl }: AppOptions): Express {
  const app = createJsonApp();
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.set('trust proxy', (address: string) => findEntry(trustedProxies, address) !== null);

  app.use(ownHostsOnly({ ownUrl, trustedProxies }));
  app.use(API_PREFIX, (request, response) => calls.handle(request, response));
  if (tools !== undefined) app.use(shareWithPages);
  app.use((request, response, next) => {
    if (oauth?.handle(request, response) !== true && tools?.handle(request, response) !== true) next();
  });
  app.use(MEDIA_PATH, media);
  app.get(NEUTRAL_PICTURE_PATH, (_request, response) => {
    response.type('image/svg+xml').send(NEUTRAL_PICTURE);
  });
  app.use((_request, response) => writeAnswer(response, refusal(new PlatformError('not_found'))));
  return app;
}
