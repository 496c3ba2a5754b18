import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';

/** Path of the metadata of RFC 8414. [oauth.discovery] [versioning.auth-host] */
export const DISCOVERY_PATH = '/.well-known/oauth-authorization-server';

/** Paths below the issuer. [oauth.paths] */
export const OAUTH_PATHS = ASSUMPTIONS.oauthPaths.value;

/** The issuer identifier of this server, identical wherever it appears, without a trailing slash. */
export function issuerOf({ auth }: BaseUrls): string {
  return auth.replace(/\/+$/, '');
}

/** The resources that access tokens are issued for (RFC 8707). */
export interface Resources {
  readonly api: string;
  readonly tools: string;
}

/** The resources by identifier. The legacy address serves the same resource. */
export function resourcesOf(baseUrls: BaseUrls): Resources {
  return { api: baseUrls.api.replace(/\/+$/, ''), tools: `${issuerOf(baseUrls)}/api/mcp` };
}
