import type { Express, RequestHandler, Router } from 'express';
import { findEntry } from '../runtime/addresses/address-ranges.ts';
import { createJsonApp } from '../runtime/http-server/json-app.ts';
import { hostNameOf, isLoopbackHost } from '../runtime/http-server/loopback.ts';
import { refusal, writeAnswer } from './calls/answer.ts';
import { ASSUMPTIONS } from './kernel/assumptions.ts';
import { PlatformError } from './kernel/platform-error.ts';
import { shareWithPages } from './mcp/browser-rules.ts';
import { MEDIA_PATH } from './media/media-address.ts';
import { NEUTRAL_PICTURE, NEUTRAL_PICTURE_PATH } from './rest/neutral-picture.ts';

/** Path prefix of the REST interface. [versioning.prefix] [endpoints.base] */
export const API_PREFIX = '/api/v1';

export interface AppOptions {
  /** The endpoints of REST. */
  readonly rest: Router;
  /** The authorization server and the tool server; absent at the legacy address. */
  readonly auth?: readonly Router[];
  /** Serves files. */
  readonly media: RequestHandler;
  /**
   * Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is believed; with none it is ignored.
   * They send whatever host they were asked for.
   */
  readonly trustedProxies: readonly string[];
  /** Any address of the service, read on each request. */
  readonly ownUrl: () => string;
}

// [choice.host.foreign]
const FOREIGN = new PlatformError(ASSUMPTIONS.foreignHost.value, {
  field: 'Host',
  hint: 'must be 127.0.0.1, localhost or [::1] while the service has no other address',
});

/**
 * On a loopback address the service is asked for by the names of this machine alone: a web page whose own name was
 * made to lead here (DNS rebinding) is refused. A service with a public address leaves that to whoever serves its name.
 */
function ownHostsOnly({
  ownUrl,
  trustedProxies,
}: Pick<AppOptions, 'ownUrl' | 'trustedProxies'>): RequestHandler {
  return (request, response, next) => {
    const isOurs = (host: string): boolean => isLoopbackHost(hostNameOf(host) ?? '');
    const hosts = request.headersDistinct['host'] ?? [];
    const isForeign = isLoopbackHost(new URL(ownUrl()).hostname) && !hosts.every(isOurs);
    const { remoteAddress = '' } = request.socket;
    if (!isForeign || findEntry(trustedProxies, remoteAddress) !== null) next();
    else writeAnswer(response, refusal(FOREIGN));
  };
}

/**
 * The service's HTTP face. Whatever is asked of it, a refusal is `{ error }`. The caller's address is the
 * rightmost one of `X-Forwarded-For` and the socket that is no trusted proxy: what stands left of it was
 * written by the caller.
 */
export function createApp({ rest, auth = [], media, trustedProxies, ownUrl }: AppOptions): Express {
  const app = createJsonApp();
  app.enable('case sensitive routing');
  app.set('query parser', false);
  // [choice.forwarded-for]
  app.set('trust proxy', (address: string) => findEntry(trustedProxies, address) !== null);

  app.use(ownHostsOnly({ ownUrl, trustedProxies }));
  app.use(API_PREFIX, rest);
  // [versioning.auth-host]
  if (auth.length > 0) app.use(shareWithPages, ...auth);
  app.use(MEDIA_PATH, media);
  app.get(NEUTRAL_PICTURE_PATH, (_request, response) => {
    response.type('image/svg+xml').send(NEUTRAL_PICTURE);
  });
  app.use((_request, response) => writeAnswer(response, refusal(new PlatformError('not_found'))));
  return app;
}
