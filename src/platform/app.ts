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
   * Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is trusted; empty: the header is ignored.
   * Requests from them may have any `Host`.
   */
  readonly trustedProxies: readonly string[];
  /** Names in `Host` that are accepted besides this machine's own. */
  readonly allowedHosts: readonly string[] | undefined;
  /** Any address of the service, read on each request. */
  readonly ownUrl: () => string;
}

// [choice.host.foreign]
const foreignHost = (besides: string): PlatformError =>
  new PlatformError(ASSUMPTIONS.foreignHost.value, {
    field: 'Host',
    hint: `must be 127.0.0.1, localhost or [::1] ${besides}`,
  });

/**
 * A service on a loopback address accepts only loopback names in `Host`, so that a web page cannot reach it by DNS
 * rebinding; one whose names are listed accepts those as well, wherever it listens. Otherwise, a service with a public
 * address leaves this check to the server in front of it.
 */
function ownHostsOnly({
  ownUrl,
  trustedProxies,
  allowedHosts,
}: Pick<AppOptions, 'ownUrl' | 'trustedProxies' | 'allowedHosts'>): RequestHandler {
  const names = new Set(allowedHosts?.map((name) => name.toLowerCase()));
  const foreign = foreignHost(
    allowedHosts === undefined
      ? 'while the service has no other address'
      : 'unless PLATFORM_ALLOWED_HOSTS lists other names',
  );
  const isOurs = (host: string): boolean => {
    const name = hostNameOf(host) ?? '';
    return isLoopbackHost(name) || names.has(name);
  };
  return (request, response, next) => {
    const hosts = request.headersDistinct['host'] ?? [];
    const isChecked = allowedHosts !== undefined || isLoopbackHost(new URL(ownUrl()).hostname);
    const { remoteAddress = '' } = request.socket;
    if (!isChecked || hosts.every(isOurs) || findEntry(trustedProxies, remoteAddress) !== null) next();
    else writeAnswer(response, refusal(foreign));
  };
}

/**
 * The HTTP interface of the service. Every refusal is `{ error }`. The caller's address is the rightmost address of
 * `X-Forwarded-For` and the socket that is not a trusted proxy: the addresses left of it were written by the caller.
 */
export function createApp({ rest, auth = [], media, trustedProxies, ...hosts }: AppOptions): Express {
  const app = createJsonApp();
  app.enable('case sensitive routing');
  app.set('query parser', false);
  // [choice.forwarded-for]
  app.set('trust proxy', (address: string) => findEntry(trustedProxies, address) !== null);

  app.use(ownHostsOnly({ ...hosts, trustedProxies }));
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
